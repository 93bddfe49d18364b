import { createHash } from "node:crypto";
import { expect, test } from "bun:test";
import { isLoopback, ownHosts, policyFor } from "./guard.ts";

test("a server on loopback accepts the names of loopback with its own port", () => {
  expect([...ownHosts("127.0.0.1", 9160).keys()].sort()).toEqual([
    ...["127.0.0.1:9160", "[::1]:9160", "localhost:9160"],
  ]);
  expect(ownHosts("127.0.0.1", 80).has("localhost")).toBe(true);
});

test("a server on another address accepts that address too", () => {
  expect(ownHosts("192.0.2.1", 9160).has("192.0.2.1:9160")).toBe(true);
  expect(ownHosts("2001:db8::1", 9160).has("[2001:db8::1]:9160")).toBe(true);
  expect(ownHosts("Box.Local", 9160).has("box.local:9160")).toBe(true);
});

test("only loopback addresses count as loopback", () => {
  expect(["127.0.0.1", "127.1.2.3", "localhost", "::1"].every(isLoopback)).toBe(true);
  expect(["0.0.0.0", "::", "192.0.2.1", "127.0.0.1.evil.example"].some(isLoopback)).toBe(false);
});

test("the policy of a page allows its own inline styles by their hash, and no others", () => {
  expect(policyFor([])).not.toContain("style-src");
  const hash = createHash("sha256").update("p { color: red }").digest("base64");
  expect(policyFor(["p { color: red }"])).toContain(`; style-src 'self' 'sha256-${hash}'; `);
  expect(policyFor(["p { color: red }"])).not.toContain("unsafe");
});
