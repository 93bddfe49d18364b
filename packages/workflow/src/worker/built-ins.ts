import { WorkflowError } from "../contract/error.ts";
import { getPrototypeOf } from "../contract/intrinsics.ts";
import { OwnSet } from "../contract/own-collections.ts";

const { is } = Object;
const { defineProperty: setProperty, deleteProperty, getOwnPropertyDescriptor, ownKeys } = Reflect;

type Place = { object: object; key: string | symbol };
type Own = Place & { property: PropertyDescriptor; value: unknown; isValue: boolean };

let own: readonly Own[] = [];
// What is added to these is a property of everything.
let open: readonly { object: object; keys: OwnSet<string | symbol> }[] = [];

/** Keeps the built-ins by which logs are read and made as they are now, before a bundle is loaded. */
export function keepBuiltIns(): void {
  const spaces = { Object, Array, String, Number, BigInt, Buffer, Map, Set, JSON };
  const iterators = [[].values(), new Map().values(), new Set().values(), ""[Symbol.iterator]()];
  const generators = [function* () {}.prototype, async function* () {}.prototype];
  const kept: Own[] = [];
  keepIn(kept, globalThis, ["Math", ...ownKeys(spaces)]);
  // Of these there are many that nothing here uses.
  const ofMath = [Math.abs, Math.ceil, Math.floor, Math.max, Math.min, Math.round];
  for (const used of ofMath) keepIn(kept, Math, [used.name]);
  keepIn(kept, RegExp, [Symbol.species]);
  keepIn(kept, Buffer.prototype, methodsOfBuffers());
  const { prototype: bytes } = Uint8Array;
  const arrays = getPrototypeOf(iterators[0]) as object;
  for (const object of [
    ...[...Object.values(spaces), Promise, Symbol, arrays, getPrototypeOf(arrays) as object],
    ...[Object.prototype, Array.prototype, String.prototype, Number.prototype, BigInt.prototype],
    ...[Map.prototype, Set.prototype, Function.prototype, RegExp.prototype, bytes],
    ...[getPrototypeOf(bytes) as object],
  ]) {
    keepIn(kept, object, ownKeys(object));
  }
  for (let n = 1; n < iterators.length; n += 1) keepAll(kept, getPrototypeOf(iterators[n]));
  for (const generator of generators) keepAll(kept, getPrototypeOf(generator));
  own = kept;
  open = [
    { object: Object.prototype, keys: new OwnSet(ownKeys(Object.prototype)) },
    { object: Array.prototype, keys: new OwnSet(ownKeys(Array.prototype)) },
  ];
}

const keepAll = (kept: Own[], object: unknown): void =>
  keepIn(kept, object as object, ownKeys(object as object));

/** Those of a buffer's methods that do not read or write a number. */
function methodsOfBuffers(): (string | symbol)[] {
  const names: (string | symbol)[] = [];
  for (const name of ownKeys(Buffer.prototype)) {
    const text = typeof name === "string" ? name : "";
    const isOfNumbers = text.startsWith("read") || (text.startsWith("write") && text !== "write");
    if (!isOfNumbers) names[names.length] = name;
  }
  return names;
}

// Loops: each process runs this once, before its first step, and to call `map` for the first time takes as long as the rest.
function keepIn(kept: Own[], object: object, keys: readonly (string | symbol)[]): void {
  for (let n = 0; n < keys.length; n += 1) {
    const key = keys[n] as string | symbol;
    const property = getOwnPropertyDescriptor(object, key) as PropertyDescriptor;
    const { value, writable, configurable } = property;
    // What nobody can replace need not be looked at.
    if (!configurable && writable === false) continue;
    kept[kept.length] = { object, key, property, value, isValue: !property.get };
  }
}

const propertyAt = ({ object, key }: Place) => getOwnPropertyDescriptor(object, key);

/**
 * Does something, on the spot, by the built-ins that there were before a bundle was loaded. A bundle may have replaced
 * some of them since, and has its own back afterwards. It costs some microseconds: a thread begins and is taken over
 * in this way; its steps are committed by what `intrinsics.ts` has kept.
 * @throws WorkflowError `BUILT_IN_REPLACED` where one was replaced for good; then nothing was done.
 */
export function withOwnBuiltIns<T>(act: () => T): T {
  let restore: () => void = () => undefined;
  const put = (place: Place, property: PropertyDescriptor | undefined) => {
    const theirs = propertyAt(place) as PropertyDescriptor;
    const before = restore;
    // What can't be removed again was added for good, and replaces nothing.
    if (!property && !deleteProperty(place.object, place.key)) return;
    if (property && !setProperty(place.object, place.key, property)) throw replaced(place);
    restore = () => {
      setProperty(place.object, place.key, theirs);
      before();
    };
  };
  try {
    // There are some hundred, which are looked at before a process's first step: no call for what is in place.
    const kept = own;
    const { length } = kept;
    for (let n = 0; n < length; n += 1) {
      const one = kept[n] as Own;
      const { object, value } = one;
      if (one.isValue && (object as Record<PropertyKey, unknown>)[one.key] === value) continue;
      if (!isInPlace(one)) put(one, one.property);
    }
    for (let n = 0; n < open.length; n += 1) {
      const { object, keys } = open[n] as (typeof open)[number];
      const present = ownKeys(object);
      // Those that there were are all in place.
      if (present.length === keys.size) continue;
      for (let k = 0; k < present.length; k += 1) {
        const key = present[k] as string | symbol;
        if (!keys.has(key)) put({ object, key }, undefined);
      }
    }
    return act();
  } finally {
    restore();
  }
}

const replaced = ({ key }: Place): WorkflowError =>
  WorkflowError.failed(
    "BUILT_IN_REPLACED",
    `the bundle has replaced the built-in ${String(key)} for good: its worker can begin no thread any more`,
    "end the worker: uncaged-workflow kill --force <thread>; and keep the bundle from doing so",
  );

function isInPlace(one: Own): boolean {
  const { object, key, property, value } = one;
  if (!property.get) return is((object as Record<PropertyKey, unknown>)[key], value);
  const present = propertyAt(one);
  return present?.get === property.get && present.set === property.set;
}
