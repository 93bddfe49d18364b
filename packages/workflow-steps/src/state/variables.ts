import { type TruncatedValue, truncated } from "@uncaged/workflow";
import { copyOf, sameValue } from "../expression/value.ts";
import { applyWrite } from "./fold.ts";
import type { Write } from "./state.ts";

/** A variable before and after a write, as events show it. */
type Change = { oldValue: unknown; newValue: unknown };

/** The variables of a run while it goes on. A write costs its own size, not that of the variable. */
export class Variables {
  readonly #values: Record<string, unknown>;
  readonly #owned = new WeakSet<object>();
  readonly #sizes = new Sizes();

  /** @param values They are changed; the containers in them are not. */
  constructor(values: Record<string, unknown>) {
    this.#values = values;
  }

  /** Writes; null when the value was there already. @throws WorkflowError `PATH_REFUSED` */
  write(write: Write): Change | null {
    const { path, value } = write;
    const [name, ...rest] = path as [string, ...(string | number)[]];
    const before = Object.hasOwn(this.#values, name) ? (this.#values[name] ?? null) : null;
    const isSame = sameValue(rest.reduce<unknown>(itemOf, before), value);
    const oldValue = isSame ? null : this.#sizes.shown(before);
    this.#sizes.count(before, rest, value, () => {
      applyWrite(this.#values, write, this.#owned);
      return this.#values[name];
    });
    return isSame ? null : { oldValue, newValue: this.#sizes.shown(this.#values[name]) };
  }
}

// The documented rule: more characters of JSON than this are cut, to a preview of so many.
const most = 10 * 1024;
const previewLength = 200;

type Container = unknown[] | Record<string, unknown>;

/**
 * The lengths of large values' JSON, kept up to date write by write: an event that shows a variable
 * must not cost what the variable has become.
 */
export class Sizes {
  readonly #known = new WeakMap<object, number>();
  readonly #previews = new WeakMap<object, string>();

  /** A value as an event shows it: a copy, or its beginning when its JSON is longer than 10 KB. */
  shown(value: unknown): unknown {
    if (!isContainer(value)) return truncated(value);
    const length = this.#of(value);
    if (length <= most) return copyOf(value);
    const known = this.#previews.get(value);
    const preview = known ?? `${startOf(value, previewLength)}...`;
    this.#previews.set(value, preview);
    return { _truncated: true, type: "object", length, preview } satisfies TruncatedValue;
  }

  /** Runs a write of `value` at `path` of `root`, and counts what it changes. Gives the new root. */
  count(
    root: unknown,
    path: readonly (string | number)[],
    value: unknown,
    write: () => unknown,
  ): unknown {
    const before = along(root, path).map((container) => this.#measured(container));
    const replaced = itemOf(before.at(-1)?.container, path[before.length - 1]);
    let shrunk = replaced === undefined ? 0 : this.#of(replaced);
    const isNew = replaced === undefined;
    const result = write();
    let grown = this.#of(value);
    for (const [depth, container] of [...along(result, path).entries()].toReversed()) {
      const old = before[depth];
      if (old) {
        const size = old.size + grown - shrunk + (shrunk === 0 ? joint(old, path[depth]) : 0);
        this.#known.set(container, size);
        shrunk = old.size;
      }
      if (!old || depth > 0 || !isNew || !comesLast(container, path[0])) {
        this.#previews.delete(container);
      }
      grown = this.#of(container);
    }
    return result;
  }

  #measured(container: Container): Measured {
    const items = Array.isArray(container) ? container.length : 0;
    return { container, size: this.#of(container), items };
  }

  #of(value: unknown): number {
    const known = isContainer(value) ? this.#known.get(value) : undefined;
    if (known !== undefined) return known;
    const size = JSON.stringify(value)?.length ?? 0;
    if (isContainer(value) && size > most) this.#known.set(value, size);
    return size;
  }
}

type Measured = { container: Container; size: number; items: number };

/** What a new item needs beside its value: its key, its comma, and the nulls before it. */
function joint({ container, items, size }: Measured, key: string | number = ""): number {
  const comma = size === "{}".length ? 0 : 1;
  if (!Array.isArray(container)) return comma + JSON.stringify(String(key)).length + 1;
  return comma + (Number(key) - items) * "null,".length;
}

// A key that is a number stands before the others.
const comesLast = (container: Container, key: string | number | undefined): boolean =>
  Array.isArray(container) || !/^\d+$/.test(String(key));

/** The containers on a path, as far as they are there. */
function along(root: unknown, path: readonly (string | number)[]): Container[] {
  const containers: Container[] = [];
  let value = root;
  for (const segment of path) {
    if (!isContainer(value)) break;
    containers.push(value);
    value = itemOf(value, segment);
  }
  return containers;
}

const itemOf = (container: unknown, key: string | number | undefined): unknown =>
  isContainer(container) && key !== undefined && Object.hasOwn(container, key)
    ? (container as Record<string | number, unknown>)[key]
    : undefined;

const isContainer = (value: unknown): value is Container =>
  typeof value === "object" && value !== null;

/** The first characters of a value's JSON, without writing all of it. */
function startOf(value: unknown, length: number): string {
  if (!isContainer(value)) return (JSON.stringify(value) ?? "null").slice(0, length);
  const parts = Array.isArray(value) ? itemsOf(value, length) : entriesOf(value, length);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  let text = String(open);
  for (const part of parts) {
    if (text.length >= length) return text.slice(0, length);
    text += text.length > 1 ? `,${part}` : part;
  }
  return `${text}${close}`.slice(0, length);
}

function* itemsOf(items: readonly unknown[], length: number): Generator<string> {
  for (const item of items) yield startOf(item, length);
}

function* entriesOf(record: Record<string, unknown>, length: number): Generator<string> {
  for (const key in record) yield `${JSON.stringify(key)}:${startOf(record[key], length)}`;
}
