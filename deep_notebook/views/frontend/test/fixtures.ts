import { readFileSync } from 'node:fs';

/** Reads a case table that the Python tests share. */
export function fixture<T>(name: string): T {
  return JSON.parse(readFileSync(`../../../tests/fixtures/${name}`, 'utf8')) as T;
}
