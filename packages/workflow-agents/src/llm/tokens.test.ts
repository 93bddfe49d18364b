import { expect, test } from "bun:test";
import { tokensAbout } from "./tokens.ts";

test("pictures and documents count as a model counts them, not by their bytes", () => {
  expect(tokensAbout("x".repeat(398))).toBe(99.5);
  const data = "A".repeat(4_000_000);
  const source = { type: "base64", media_type: "image/png", data };
  const picture = tokensAbout([{ type: "tool_result", parts: [{ type: "image", source }] }]);
  expect(picture).toBeGreaterThan(1600);
  expect(picture).toBeLessThan(1700);
  const url = `data:image/png;base64,${data}`;
  expect(tokensAbout([{ type: "image_url", image_url: { url } }])).toBeLessThan(1700);
  const pdf = { type: "document", source: { ...source, media_type: "application/pdf" } };
  expect(tokensAbout(pdf)).toBeGreaterThan(100_000);
  expect(tokensAbout(pdf)).toBeLessThan(300_000);
  expect(tokensAbout({ type: "base64", data: 1 })).toBeGreaterThan(5);
});
