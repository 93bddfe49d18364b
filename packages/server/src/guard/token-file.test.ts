import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWorkflowError } from "@uncaged/workflow/host";
import { readTokenFile } from "./token-file.ts";

const folder = mkdtempSync(join(tmpdir(), "uw-tokens-"));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, "tokens");

const good = "a".repeat(20);
const other = "b".repeat(20);

function refusalOf(text: string, mode = 0o600): string {
  writeFileSync(path, text);
  chmodSync(path, mode);
  try {
    readTokenFile(path);
  } catch (error) {
    if (isWorkflowError(error) && error.code === "BAD_TOKEN_FILE" && error.kind === "usage")
      return error.message.replace(path, "tokens");
    throw error;
  }
  return "accepted";
}

test.each([
  ["", "tokens: no tokens found"],
  ["# nothing\n\n", "tokens: no tokens found"],
  ["{}", "tokens:1: expected <name> <role> <token> [<expiry>]"],
  ["\0\u0001\u0002", "tokens:1: expected <name> <role> <token> [<expiry>]"],
  [`a read ${good}\nb read`, "tokens:2: expected <name> <role> <token> [<expiry>]"],
  [`a read ${good} 2027-01-31 more`, "tokens:1: expected <name> <role> <token> [<expiry>]"],
  [`a/b read ${good}`, 'tokens:1: invalid name "a/b": use letters, digits and . _ @ -'],
  [`a write ${good}`, 'tokens:1: invalid role "write": use read, answer, operate'],
  ["a read short", "tokens:1: a token needs 20 to 512 letters, digits and . _ ~ + / = -"],
  ["a read sha256:12", "tokens:1: sha256: needs 64 hexadecimal digits"],
  [
    `a read ${good} soon`,
    'tokens:1: invalid expiry "soon": use 2027-01-31 or 2027-01-31T12:00:00Z',
  ],
  [
    `a read ${good} 2027-13-31`,
    'tokens:1: invalid expiry "2027-13-31": use 2027-01-31 or 2027-01-31T12:00:00Z',
  ],
  [`a read ${good}\n\na read ${other}`, "tokens:3: the name a is already on line 1"],
  [`a read ${good}\nb read ${good}`, "tokens:2: the token is already on line 1"],
])("refuses %j with its line", (text, message) => {
  expect(refusalOf(text)).toBe(message);
});

test("refuses a file that other users can read, and a missing file", () => {
  for (const mode of [0o644, 0o640, 0o604, 0o620]) {
    const shown = mode.toString(8).padStart(4, "0");
    expect(refusalOf(`a read ${good}`, mode)).toBe(
      `tokens: other users can read it (mode ${shown})`,
    );
  }
  expect(refusalOf(`a read ${good}`, 0o400)).toBe("accepted");
  expect(() => readTokenFile(join(folder, "none"))).toThrow("can't be read: ENOENT");
  expect(() => readTokenFile(folder)).toThrow("not a file");
});

test("reads names, roles, hashes and expiry dates", () => {
  writeFileSync(path, `ci operate ${good} 2027-01-31\r\n  ops@a.b  answer ${other} # no\n`);
  expect(() => readTokenFile(path)).toThrow("tokens:2: expected");
  writeFileSync(path, `ci operate ${good} 2027-01-31\r\n  ops@a.b  answer ${other}`);
  expect(readTokenFile(path)).toMatchObject([
    { name: "ci", role: "operate", expiresAt: Date.UTC(2027, 0, 31) },
    { name: "ops@a.b", role: "answer", expiresAt: null },
  ]);
});
