import { sameValue } from "../expression/value.ts";
import type { Write } from "../state/commit.ts";
import { Sizes } from "../state/sizes.ts";
import { applyWrite } from "../state/state.ts";

/** A variable before and after a write, as events show it. */
export type Change = { oldValue: unknown; newValue: unknown };

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
    const isSame = sameValue(valueAt(before, rest), value);
    const oldValue = isSame ? null : this.#sizes.shown(before);
    this.#sizes.count(before, rest, value, () => {
      applyWrite(this.#values, write, this.#owned);
      return this.#values[name];
    });
    return isSame ? null : { oldValue, newValue: this.#sizes.shown(this.#values[name]) };
  }
}

const valueAt = (root: unknown, path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, key)
        ? (value as Record<string | number, unknown>)[key]
        : undefined,
    root,
  );
