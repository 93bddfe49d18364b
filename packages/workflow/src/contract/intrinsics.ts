/**
 * Built-ins as they are when this module is loaded, before any bundle is. A bundle shares its worker's process and
 * may replace them: for itself, by a polyfill, a mock or fake timers, but not for what commits the steps of other
 * threads. That takes from here whatever is no syntax. A method comes as a function whose first argument is its `this`.
 */
const functions = Function.prototype as unknown as Record<"bind" | "call", CallableFunction>;

type Methods<Self> = { [Name in keyof Self]: Self[Name] extends Call ? Name : never }[keyof Self];
type Call = (...args: never[]) => unknown;

const uncurry = /* @__PURE__ */ functions.bind.bind(functions.call) as (method: unknown) => unknown;

/** A method of a prototype as a function of its `this`. */
export const uncurried = <Self, Name extends Methods<Self>>(prototype: Self, name: Name) =>
  uncurry(prototype[name]) as Self[Name] extends (...args: infer Args) => infer Result
    ? (self: Self, ...args: Args) => Result
    : never;

export const { isArray } = Array;
export const { isFinite: isFiniteNumber, isInteger } = Number;
export const { defineProperty, keys: keysOf, getPrototypeOf } = Object;
export const { parse: parseJson, stringify: stringifyJson } = JSON;
export const { asyncIterator } = Symbol;
export const OwnPromise = Promise;
export const thenOf = /* @__PURE__ */ uncurried(Promise.prototype, "then") as <T>(
  promise: Promise<T>,
  onValue: (value: T) => void,
  onError: (reason: unknown) => void,
) => Promise<void>;

const makeResolvers = /* @__PURE__ */ Promise.withResolvers.bind(Promise);
export const withResolvers = <T>() => makeResolvers() as PromiseWithResolvers<T>;
export const abort = /* @__PURE__ */ uncurried(AbortController.prototype, "abort");

export const sliceText = /* @__PURE__ */ uncurried(String.prototype, "slice");
export const padStart = /* @__PURE__ */ uncurried(String.prototype, "padStart");
export const bigintText = /* @__PURE__ */ uncurried(BigInt.prototype, "toString");

const encoder = /* @__PURE__ */ new TextEncoder();
const encode = /* @__PURE__ */ uncurried(encoder, "encode");
/** A text as UTF-8. */
export const encodeText = (text: string): Uint8Array<ArrayBuffer> => encode(encoder, text);

const typedArray = Object.getPrototypeOf(Uint8Array.prototype) as object;
const { get: length } = Object.getOwnPropertyDescriptor(typedArray, "length") as {
  get: () => number;
};
/** How many bytes there are. */
export const lengthOf = /* @__PURE__ */ uncurry(length) as (bytes: Uint8Array) => number;
