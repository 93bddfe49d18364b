import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWorkflowError } from "../../contract/error.ts";
import { type Root, serverPath } from "../../disk/paths.ts";
import { openRoot } from "../../disk/root.ts";
import { readServerAddress, writeServerAddress } from "./server-address.ts";

const address = { url: "http://127.0.0.1:9160", token: "secret", pid: 7 };
let root: Root;

beforeEach(() => {
  root = openRoot({ path: join(mkdtempSync(join(tmpdir(), "address-")), "root") });
});

afterEach(() => rmSync(join(root, ".."), { recursive: true, force: true }));

test("the last written address is read, only by its owner", () => {
  expect(readServerAddress(root)).toBeNull();
  writeServerAddress(root, { ...address, token: "old" });
  writeServerAddress(root, address);
  expect(readServerAddress(root)).toEqual(address);
  expect(statSync(serverPath(root)).mode & 0o777).toBe(0o600);
});

test("an invalid address counts as missing", () => {
  writeServerAddress(root, address);
  for (const text of ["", "{", "null", "[]", '{"url":1,"token":"x","pid":1}']) {
    writeFileSync(serverPath(root), text);
    expect(readServerAddress(root)).toBeNull();
  }
});

test("a link in its place is refused", () => {
  writeServerAddress(root, address);
  rmSync(serverPath(root));
  writeFileSync(join(root, "other"), JSON.stringify(address));
  symlinkSync(join(root, "other"), serverPath(root));
  let code = "";
  try {
    readServerAddress(root);
  } catch (error) {
    code = isWorkflowError(error) ? error.code : "";
  }
  expect(code).toBe("PLANTED_LINK");
});
