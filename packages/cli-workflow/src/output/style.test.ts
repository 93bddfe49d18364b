import { expect, test } from "bun:test";
import { paintFor } from "./style.ts";

test("colour is used only on a terminal, unless it is turned off", () => {
  const painted = (wanted: boolean, terminal: boolean, env: Record<string, string>) =>
    paintFor(wanted, terminal, env)("red", "x") !== "x";
  expect(painted(true, true, {})).toBe(true);
  expect(painted(true, true, { NO_COLOR: "" })).toBe(true);
  expect(painted(true, false, {})).toBe(false);
  expect(painted(false, true, {})).toBe(false);
  expect(painted(true, true, { NO_COLOR: "1" })).toBe(false);
  expect(painted(true, true, { TERM: "dumb" })).toBe(false);
});
