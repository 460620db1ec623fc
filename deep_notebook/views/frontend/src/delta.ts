import type { Op } from './protocol';

/** Thrown when an operation does not fit the state: some were missed before it. */
export class DeltaError extends Error {}

/** Returns `state` after `ops`. What did not change keeps its identity; `state` itself stays as it was. */
export function applyOps<T>(state: T, ops: Op[]): T {
  let next: unknown = state;
  for (const op of ops) next = applyAt(next, op, 0);
  return next as T;
}

function applyAt(value: unknown, op: Op, depth: number): unknown {
  const [kind, path, operand] = op;
  if (depth < path.length) {
    const key = path[depth] as string | number;
    const isLast = depth === path.length - 1;
    if (Array.isArray(value) && typeof key === 'number' && key >= 0 && key < value.length) {
      const copy = value.slice();
      copy[key] = applyAt(value[key], op, depth + 1);
      return copy;
    }
    if (isRecord(value) && typeof key === 'string' && (Object.hasOwn(value, key) || (isLast && kind === 'set'))) {
      return { ...value, [key]: applyAt(value[key], op, depth + 1) };
    }
  } else if (kind === 'set') {
    return operand;
  } else if (kind === 'append' && typeof value === 'string' && typeof operand === 'string') {
    return value + operand;
  } else if (kind === 'push' && Array.isArray(value) && Array.isArray(operand)) {
    return [...value, ...operand];
  }
  throw new DeltaError(`cannot ${kind} at /${path.join('/')}`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
