/* Clock, random numbers and environment of a replay, which the process sets before it loads a bundle. */

const RealDate = Date;
/** The clock of the system. */
export const realNow = Date.now;
const realRandom = Math.random;
const realEnv = process.env;
const randomUUID = crypto.randomUUID.bind(crypto);
const getRandomValues = crypto.getRandomValues.bind(crypto);

let [time, setAt] = [realNow(), realNow()];
let random = realRandom;
let given = realEnv;
let variables: Variables = "given";

/** Sources of random numbers. A workflow that draws between steps takes different branches with `low` and `high`. */
export type RandomRange = "low" | "high" | "whole";

/** Environment of a replay: the given one, an empty one, or one in which each other variable is `1`. */
export type Variables = "given" | "none" | "all";

const mostNarrow = 1_000;
const secondMs = 1_000;

/**
 * Replaces clock, random numbers and environment of this process by the values of {@link surroundReplay}. Functions that
 * a bundle imports from `node:crypto` stay. Returns a function that restores them.
 */
export function replaceSurroundings(env: NodeJS.ProcessEnv = realEnv): () => void {
  // Stands still within a second, so that a replay can be repeated.
  const now = () => time + Math.floor((realNow() - setAt) / secondMs) * secondMs;
  const Shifted = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as object,
    apply: (target) => new target(now()).toString(),
    get: (target, key) => (key === "now" ? now : (Reflect.get(target, key) as unknown)),
  });
  globalThis.Date = Shifted;
  Math.random = () => random();
  Object.assign(crypto, { randomUUID: randomId, getRandomValues: fill });
  given = env;
  process.env = environment();
  return () => {
    globalThis.Date = RealDate;
    Math.random = realRandom;
    Object.assign(crypto, { randomUUID, getRandomValues });
    process.env = realEnv;
  };
}

/** Sets the clock and the environment, and restarts a stream of random numbers. */
export function surroundReplay(now: number, range: RandomRange, mode: Variables = "given"): void {
  [time, setAt, variables] = [now, realNow(), mode];
  process.env = environment();
  let [state, drawn] = [20_150_601, 0];
  const next = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  random = () => {
    drawn += 1;
    // A loop that draws until a number matches must end.
    if (range === "whole" || drawn > mostNarrow) return next();
    return range === "low" ? next() / 1_000 : 1 - next() / 1_000 - Number.EPSILON;
  };
}

/** Returns a new object with the variables of the replay. */
export function environment(): Record<string, string> {
  if (variables === "none") return {};
  const env = { ...given } as Record<string, string>;
  if (variables === "given") return env;
  const isVariable = (key: string | symbol) =>
    typeof key === "string" && (Object.hasOwn(env, key) || /^[A-Z][A-Z0-9_]*$/.test(key));
  return new Proxy(env, {
    has: (_, key) => isVariable(key),
    get: (target, key) => Reflect.get(target, key) ?? (isVariable(key) ? "1" : undefined),
  });
}

function fill<T extends NodeJS.ArrayBufferView>(view: T): T {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  for (const index of bytes.keys()) bytes[index] = Math.floor(random() * 256);
  return view;
}

function randomId(): string {
  const hex = Buffer.from(fill(new Uint8Array(16))).toString("hex");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-8$4-$5");
}
