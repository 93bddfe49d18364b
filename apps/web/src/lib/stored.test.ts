import { afterEach, expect, test } from "bun:test";
import { readStored, store } from "./stored.ts";

afterEach(() => {
  Reflect.deleteProperty(globalThis, "localStorage");
});

test("texts stay in memory while the storage fails, and are stored once it works", () => {
  const stored = new Map<string, string>();
  let isOff = true;
  const use = <Result>(act: () => Result): Result => {
    if (isOff) throw new Error("The quota has been exceeded.");
    return act();
  };
  Object.defineProperty(globalThis, "localStorage", {
    configurable: true,
    value: {
      getItem: (key: string) => use(() => stored.get(key) ?? null),
      setItem: (key: string, text: string) => use(() => void stored.set(key, text)),
      removeItem: (key: string) => use(() => void stored.delete(key)),
    },
  });
  expect(readStored("runs")).toBeNull();
  expect(store("runs", "one")).toBe(false);
  expect(readStored("runs")).toBe("one");
  isOff = false;
  expect(store("runs", "two")).toBe(true);
  stored.set("runs", "three, by another tab");
  expect(readStored("runs")).toBe("three, by another tab");
  store("runs", null);
  expect(readStored("runs")).toBeNull();
});
