import { type TruncatedValue, truncated } from "@uncaged/workflow/interpreter";
import { copyOf, sameValue } from "../expression/value.ts";
import { applyWrite } from "./fold.ts";
import type { Write } from "./state.ts";

/** A variable before and after a write, as events show it: a copy, or the beginning of a long value. */
type Change = { oldValue: unknown; newValue: unknown };

type Key = string | number;
type Container = unknown[] | Record<string, unknown>;

// The documented limit of a whole value in an event, and the length of a longer value's preview, in characters of JSON.
const most = 10 * 1024;
const previewLength = 200;

/** The variables of a live run. The cost of a write depends on the size of the write, not of the variable. */
export class Variables {
  readonly #values: Record<string, unknown>;
  readonly #owned = new WeakSet<object>();
  /** Published variables with long values, each with the beginning of its JSON if known. */
  readonly #long = new Map<string, { length: number; preview: string | null }>();
  /** Containers whose JSON is longer than a preview. Cached, because measuring is slow. */
  readonly #wide = new WeakSet<object>();

  /** @param values The initial values. This class changes the record, but not the containers in it. */
  constructor(values: Record<string, unknown>) {
    this.#values = values;
  }

  /**
   * Writes a value. Returns null if the variable does not change.
   * @throws WorkflowError `PATH_REFUSED`
   */
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
    // Only the innermost existing container changes.
    const root = this.#values[name];
    const containers = along(root, path);
    const depth = containers.length - 1;
    const [container, key] = [containers[depth] as Container, path[depth] as Key];
    const isWide =
      this.#wide.has(container) || startOf(container, previewLength).length === previewLength;
    const replaced = itemOf(container, key);
    const added = replaced === undefined ? joint(container, key, isWide) : -lengthOf(replaced);
    applyWrite(this.#values, write, this.#owned);
    const after = along(this.#values[name], path);
    const changed = after[depth] as Container;
    long.length += added + lengthOf(itemOf(changed, key));
    if (isWide) this.#wide.add(changed);
    if (replaced !== undefined) for (const one of after) this.#wide.delete(one);
    // Numeric keys of an object come first in its order.
    const isLast = replaced === undefined && (Array.isArray(changed) || !/^\d+$/.test(String(key)));
    const isKnown = depth > 0 || replaced !== undefined || isLast;
    const isLater = !Array.isArray(root) && long.preview?.includes(keyText(path[0])) === false;
    if (!((isKnown && isLater) || (isLast && isWide))) long.preview = null;
  }
}

/** Returns the length in JSON of a new item's key, comma and preceding nulls. */
function joint(container: Container, key: Key, isWide: boolean): number {
  if (Array.isArray(container)) {
    return (container.length > 0 ? 1 : 0) + (Number(key) - container.length) * "null,".length;
  }
  const isFilled = isWide || Object.keys(container).length > 0;
  return (isFilled ? 1 : 0) + keyText(key).length;
}

const keyText = (key: Key = ""): string => `${JSON.stringify(String(key))}:`;

const lengthOf = (value: unknown): number => JSON.stringify(value)?.length ?? 0;

/** Returns the existing containers on a path. */
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

/** Returns the first characters of a value's JSON without serializing the whole value. */
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
  else for (const key in value) yield `${keyText(key)}${startOf(value[key], length)}`;
}
