/* What the start-up path still imports; goes with it. */
const functions = Function.prototype as unknown as Record<"bind" | "call", CallableFunction>;

type Methods<Self> = { [Name in keyof Self]: Self[Name] extends Call ? Name : never }[keyof Self];
type Call = (...args: never[]) => unknown;

const uncurry = /* @__PURE__ */ functions.bind.bind(functions.call) as (method: unknown) => unknown;

/** A method of a prototype as a function of its `this`. */
export const uncurried = <Self, Name extends Methods<Self>>(prototype: Self, name: Name) =>
  uncurry(prototype[name]) as Self[Name] extends (...args: infer Args) => infer Result
    ? (self: Self, ...args: Args) => Result
    : never;

export const withResolvers = <T>(): PromiseWithResolvers<T> => Promise.withResolvers<T>();
export const bigintText = (value: bigint, radix: number): string => value.toString(radix);

const encoder = /* @__PURE__ */ new TextEncoder();
/** A text as UTF-8. */
export const encodeText = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text);
/** How many bytes there are. */
export const lengthOf = (bytes: Uint8Array): number => bytes.length;
