import { useMemo } from 'preact/hooks';
import { blocks, sanitize } from '../markdown';
import type { Typesetter } from '../typeset';
import { Html } from './html';

function Block({ source, typesetter }: { source: string; typesetter: Typesetter | null }) {
  return <Html html={useMemo(() => sanitize(source), [source])} typesetter={typesetter} />;
}

interface MarkdownProps {
  text: string;
  typesetter: Typesetter | null;
  /** The text still grows: its last block is not typeset yet. */
  growing?: boolean;
}

export function Markdown({ text, typesetter, growing = false }: MarkdownProps) {
  const parts = useMemo(() => blocks(text), [text]);
  return (
    <div class="dn-markdown">
      {parts.map((source, index) => {
        const isGrowing = growing && index === parts.length - 1;
        return <Block key={index} source={source} typesetter={isGrowing ? null : typesetter} />;
      })}
    </div>
  );
}
