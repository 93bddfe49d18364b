import { expect, test } from "bun:test";
import { GrowingText } from "./text.ts";

test("a text is the pieces that were added, whenever it is asked for", () => {
  const text = new GrowingText();
  expect(String(text)).toBe("");
  let whole = "";
  for (let n = 0; n < 5000; n += 1) {
    text.add(`${n} `);
    whole += `${n} `;
    if (n % 1700 === 0) expect(String(text)).toBe(whole);
  }
  expect(String(text)).toBe(whole);
});
