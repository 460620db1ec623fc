/** The panels and the messages, as the kernel's `views/panel_shapes.py` and `views/panel_widget.py` write them. */
import type { ChangedFile, HostModel } from '../protocol';

export type FileAction = 'edit' | 'create' | 'delete';

export interface TimelinePoint {
  id: string;
  label: string;
  turn: number;
  messages: number;
  /** Unix seconds. */
  at: number;
  automatic: boolean;
  run: number | null;
  tool: string | null;
  /** What changed from the point before it to this one. */
  files: ChangedFile[];
  here: boolean;
}

export interface PlannedFile {
  path: string;
  action: FileAction;
  yours: boolean;
  possible: boolean;
  diff: string;
  added: number;
  removed: number;
}

export interface RewindQuestion {
  id: string;
  label: string;
  files: PlannedFile[];
  gaps: string[];
  variables: string[];
  messages: number;
}

export interface Timeline {
  kind: 'timeline';
  /** Oldest first. */
  points: TimelinePoint[];
  ask: RewindQuestion | null;
  undo: string | null;
  notice: string | null;
}

export interface Hunk {
  id: string;
  header: string;
  text: string;
  state: 'open' | 'kept' | 'undone';
}

export interface ReviewFile {
  path: string;
  action: FileAction;
  state: Hunk['state'] | 'mixed';
  hunks: Hunk[];
  note: string | null;
  added: number;
  removed: number;
}

export interface ChangeSet {
  kind: 'changes';
  run: number | null;
  files: ReviewFile[];
  gaps: string[];
  notice: string | null;
}

export interface Hit {
  run: number | null;
  speaker: string;
  snippet: string;
  /** Start and end in code points of the snippet. */
  matches: [number, number][];
  before: string[];
  after: string[];
  at: number | null;
}

export interface Search {
  kind: 'search';
  query: string;
  hits: Hit[];
  /** Whether there are more than the best ones, which are here. */
  more: boolean;
  /** Static HTML of a run. */
  shown: string | null;
  notice: string | null;
}

export interface Pages {
  kind: 'pages';
  title: string;
  path: string;
  page: number;
  pages: number;
  first_line: number;
  lines: number;
  text: string;
  notice: string | null;
}

export type Panel = Timeline | ChangeSet | Search | Pages;

export interface Snapshot {
  seq: number;
  state: Panel;
  /** The class of the elements that the panel is drawn in. */
  place: string;
  /** The notebook is going to be saved with an earlier state. */
  unsaved: boolean;
}

export type FromKernel = Snapshot & { kind: 'panel' };

export type Part = 'conversation' | 'files' | 'todos';

export type Action =
  | { do: 'ask'; id: string }
  | { do: 'rewind'; id: string; parts: Part[]; mine: boolean }
  | { do: 'cancel' }
  | { do: 'undo' }
  | { do: 'keep' | 'undo'; path: string | null; hunk: string | null }
  | { do: 'search'; query: string }
  | { do: 'show'; run: number }
  | { do: 'page'; page: number };

export type ToKernel = { kind: 'ready' | 'resync' } | ({ kind: 'action'; seq: number } & Action);

export type PanelModel = HostModel<ToKernel>;
