import { type TruncatedValue, truncated } from "@uncaged/workflow";
import { copyOf, sameValue } from "../expression/value.ts";
import { applyWrite } from "./fold.ts";
import type { Write } from "./state.ts";

/** A variable before and after a write, as events show it: a copy, or the beginning of a long one. */
type Change = { oldValue: unknown; newValue: unknown };

type Key = string | number;
type Container = unknown[] | Record<string, unknown>;

// The documented rule: more characters of JSON than this are cut, to a preview of so many.
const most = 10 * 1024;
const previewLength = 200;

/**
 * The variables of a run while it goes on. A write costs its own size, not that of the variable: the
 * length of a long variable's JSON is kept up to date write by write.
 */
export class Variables {
  readonly #values: Record<string, unknown>;
  readonly #owned = new WeakSet<object>();
  /** The variables that were shown and are long, with the beginning of their JSON where it is known. */
  readonly #long = new Map<string, { length: number; preview: string | null }>();
  /** Objects that are not empty: to look for a first key takes long in a large one. */
  readonly #filled = new WeakSet<object>();

  /** @param values They are changed; the containers in them are not. */
  constructor(values: Record<string, unknown>) {
    this.#values = values;
  }

  /** Writes; null when the value was there already. @throws WorkflowError `PATH_REFUSED` */
  write(write: Write): Change | null {
    const [name, ...rest] = write.path as [string, ...Key[]];
    const isSame = sameValue(rest.reduce<unknown>(itemOf, this.#values[name] ?? null), write.value);
    const oldValue = isSame ? null : this.#shown(name);
    this.#apply(write, name, rest);
    return isSame ? null : { oldValue, newValue: this.#shown(name) };
  }

  #shown(name: string): unknown {
    const value = this.#values[name] ?? null;
    if (!isContainer(value)) return truncated(value);
    let long = this.#long.get(name);
    if (!long) this.#long.set(name, (long = { length: lengthOf(value), preview: null }));
    const { length } = long;
    if (length <= most) {
      this.#long.delete(name);
      return copyOf(value);
    }
    const preview = (long.preview ??= `${startOf(value, previewLength)}...`);
    return { _truncated: true, type: "object", length, preview } satisfies TruncatedValue;
  }

  #apply(write: Write, name: string, path: readonly Key[]): void {
    const long = this.#long.get(name);
    if (!long || path.length === 0) {
      applyWrite(this.#values, write, this.#owned);
      this.#long.delete(name);
      return;
    }
    // All that changes lies in the innermost container that is there already.
    const containers = along(this.#values[name], path);
    const depth = containers.length - 1;
    const [container, key] = [containers[depth] as Container, path[depth] as Key];
    const replaced = itemOf(container, key);
    const added = replaced === undefined ? this.#joint(container, key) : -lengthOf(replaced);
    applyWrite(this.#values, write, this.#owned);
    const changed = along(this.#values[name], path)[depth] as Container;
    this.#filled.add(changed);
    long.length += added + lengthOf(itemOf(changed, key));
    // A key that is a number stands before the others.
    const comesLast = Array.isArray(changed) || !/^\d+$/.test(String(key));
    if (depth > 0 || replaced !== undefined || !comesLast) long.preview = null;
  }

  /** What a new item needs beside its value: its key, its comma, and the nulls before it. */
  #joint(container: Container, key: Key): number {
    if (Array.isArray(container)) {
      return (container.length > 0 ? 1 : 0) + (Number(key) - container.length) * "null,".length;
    }
    const isFilled = this.#filled.has(container) || Object.keys(container).length > 0;
    return (isFilled ? 1 : 0) + lengthOf(String(key)) + 1;
  }
}

const lengthOf = (value: unknown): number => JSON.stringify(value)?.length ?? 0;

/** The containers on a path, as far as they are there. */
function along(root: unknown, path: readonly Key[]): Container[] {
  const containers: Container[] = [];
  let value = root;
  for (const segment of path) {
    if (!isContainer(value)) break;
    containers.push(value);
    value = itemOf(value, segment);
  }
  return containers;
}

const itemOf = (container: unknown, key: Key): unknown =>
  isContainer(container) && Object.hasOwn(container, key)
    ? (container as Record<Key, unknown>)[key]
    : undefined;

const isContainer = (value: unknown): value is Container =>
  typeof value === "object" && value !== null;

/** The first characters of a value's JSON, without writing all of it. */
function startOf(value: unknown, length: number): string {
  if (!isContainer(value)) return (JSON.stringify(value) ?? "null").slice(0, length);
  const [open = "", close = ""] = Array.isArray(value) ? "[]" : "{}";
  let text = open;
  for (const part of partsOf(value, length)) {
    if (text.length >= length) return text.slice(0, length);
    text += text.length > 1 ? `,${part}` : part;
  }
  return `${text}${close}`.slice(0, length);
}

function* partsOf(value: Container, length: number): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield startOf(item, length);
  else for (const key in value) yield `${JSON.stringify(key)}:${startOf(value[key], length)}`;
}
