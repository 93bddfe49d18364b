import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWorkflowError, type WorkflowError } from "../contract/error.ts";
import { registryPath, type Root } from "../disk/paths.ts";
import { openRoot } from "../disk/root.ts";
import { changeRegistry } from "./change.ts";
import { readRegistry } from "./read.ts";
import { backupPath } from "../disk/paths.ts";
import { maxRegistryBytes, type Registry, serialiseRegistry } from "./registry.ts";
import { register } from "./versions.ts";

const [A, B] = ["A".repeat(13), "B".repeat(13)];
/** A registry without its sum, as an earlier version wrote it. */
const plain = (registry: Registry) => serialiseRegistry(registry).replace(/^sum: .*\n/, "");
const good = plain(
  new Map([
    ["one", { hash: A, timestamp: 2, history: [{ hash: B, timestamp: 1 }] }],
    ["two", { hash: B, timestamp: 30, history: [] }],
  ]),
);

let root: Root;
beforeEach(() => {
  root = openRoot({ path: mkdtempSync(join(tmpdir(), "registry-")) });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const write = (text: string | Uint8Array) => writeFileSync(registryPath(root), text);
const add = (name: string, hash: string) =>
  changeRegistry(root, (registry) => register(registry, name, hash, 1));

async function refusal(act: () => Promise<unknown>): Promise<WorkflowError> {
  try {
    await act();
  } catch (error) {
    if (isWorkflowError(error)) return error;
    throw error;
  }
  throw new Error("the call was not refused");
}

/** Expects reads and changes to fail, and the file to stay unchanged. */
async function expectBroken(text: string | Uint8Array, place: string): Promise<WorkflowError> {
  write(text);
  const error = await refusal(() => readRegistry(root));
  expect(error.code).toBe("REGISTRY_BROKEN");
  expect(error.kind).toBe("failed");
  expect(error.message).toStartWith(`${registryPath(root)}:${place}: `);
  expect(error.message).not.toContain("\n");
  expect((await refusal(() => add("new", A))).code).toBe("REGISTRY_BROKEN");
  expect(readFileSync(registryPath(root))).toEqual(Buffer.from(text));
  return error;
}

test("a missing registry is read as empty, and reading writes nothing", async () => {
  expect(await readRegistry(root)).toEqual(new Map());
  expect(existsSync(registryPath(root))).toBe(false);
});

describe("an invalid registry is an error that names the line, and stays unchanged:", () => {
  test("an empty file", () => expectBroken("", "1:1"));
  test("a file of blanks", () => expectBroken(" \n\n", "1:1"));
  test("workflows without a value", () => expectBroken("workflows:\n", "1:11"));
  test("a file without workflows", () => expectBroken("other: 1\n", "1:1"));
  test("a list", () => expectBroken("- a\n", "1:1"));
  test("a tab as indent", () => expectBroken("workflows:\n\tone:\n", "2:1"));
  test("a name twice", () => expectBroken(good.replace("  two:", "  one:"), "8:3"));
  test("a key twice", () =>
    expectBroken(good.replace("    history: []", "    hash: X\n    history: []"), "11:5"));
  test("a version twice", () =>
    expectBroken(good.replace(`- hash: "${B}"`, `- hash: "${A}"`), "6:9"));
  test("an invalid hash", () => expectBroken(good.replace(`"${B}"`, '"../x"'), "6:15"));
  test("a hash that is a number", async () => {
    const error = await expectBroken(good.replace(`"${B}"`, "1234567890123"), "6:15");
    expect(error.message).toContain("quotes");
  });
  test.each(["-1", "1.5", "NaN", "soon", "99999999999999999999", "~"])("the timestamp %s", (time) =>
    expectBroken(good.replace("timestamp: 30", `timestamp: ${time}`), "10:16"),
  );
  test.each(["..", "a/b", '"a\\0"', "con", "-rf", "x".repeat(65)])("the name %p", (name) =>
    expectBroken(good.replace("  two:", `  ${name}:`), "8:3"),
  );
  test("an alias", () =>
    expectBroken(`workflows:\n  a: &a {hash: ${A}, timestamp: 1, history: []}\n  b: *a\n`, "3:6"));
  test("a bomb of aliases", () => {
    const bomb = Array.from({ length: 30 }, (_, i) => `x${i + 1}: &x${i + 1} [*x${i}, *x${i}]`);
    return expectBroken(`x0: &x0 [1]\n${bomb.join("\n")}\nworkflows: *x30\n`, "32:12");
  });
  test("a tag", () => expectBroken("workflows: !!js/function x\n", "1:12"));
  test("a second document", () => expectBroken(`${good}---\n${good}`, "12:1"));
  test("brackets nested 100,000 deep", async () => {
    write("[".repeat(100_000));
    expect((await refusal(() => readRegistry(root))).message).toContain("nested too deeply");
  });
  test("a NUL byte", () => expectBroken(good.replace("two", "t\0o"), "8:4"));
  test("invalid UTF-8", () =>
    expectBroken(Buffer.from(good.replace("two", "t\xffo"), "latin1"), "8:1"));
  test("a byte order mark inside", () => expectBroken(good.replace("two", "\ufefftwo"), "8:3"));
});

test("a registry truncated anywhere but at the end of a version is never read as another registry", async () => {
  const whole = new Set<string>();
  for (let length = 0; length < good.length; length += 1) {
    write(good.slice(0, length));
    try {
      whole.add(plain(await readRegistry(root)));
    } catch (error) {
      if (!isWorkflowError(error) || error.code !== "REGISTRY_BROKEN") throw error;
    }
  }
  expect([...whole].filter((text) => !good.startsWith(text))).toEqual([]);
});

test("a file over 16 MiB is refused before it is read", async () => {
  write(new Uint8Array(maxRegistryBytes + 1));
  expect((await refusal(() => readRegistry(root))).code).toBe("FILE_TOO_LARGE");
});

test.each([
  ["a byte order mark", `\ufeff${good}`],
  ["CRLF line ends", good.replaceAll("\n", "\r\n")],
  ["comments", `# mine\n${good}`],
  [
    "other quotes and JSON",
    JSON.stringify({
      workflows: {
        one: { hash: A, timestamp: 2, history: [{ hash: B, timestamp: 1 }] },
        two: { hash: B, timestamp: 30, history: [] },
      },
    }),
  ],
])("a registry with %s is parsed correctly", async (_what, text) => {
  write(text);
  expect(plain(await readRegistry(root))).toBe(good);
});

test("the example of RFC-001 is read", async () => {
  write(`workflows:
  solve-issue:
    hash: "C9NMV6V2TQT81"
    timestamp: 1714963200000
    history:
      - hash: "A7BKR3M1NPQ40"
        timestamp: 1714876800000
      - hash: "X2FGH8J4KLM56"
        timestamp: 1714790400000
`);
  expect((await readRegistry(root)).get("solve-issue")?.history).toHaveLength(2);
});

test.each([
  ["at the top", `schema: 2\n${good}`, "1:1"],
  ["in a workflow", good.replace("    history: []", "    owner: me\n    history: []"), "11:5"],
  ["in a version", good.replace("timestamp: 1\n", "timestamp: 1\n        note: x\n"), "8:9"],
])("an unknown key %s prevents writes, but not reads", async (_where, text, place) => {
  write(text);
  expect((await readRegistry(root)).size).toBe(2);
  const error = await refusal(() => add("new", A));
  expect(error.code).toBe("REGISTRY_NEWER");
  expect(error.message).toStartWith(`${registryPath(root)}:${place}: `);
  expect(readFileSync(registryPath(root), "utf8")).toBe(text);
});

test("a broken registry's error names the backup from before the last change", async () => {
  await add("one", A);
  await add("two", B);
  const error = await expectBroken("workflows: [", "1:13");
  expect(error.hint).toContain(backupPath(root));
  expect(readFileSync(backupPath(root), "utf8")).toContain("one");
});

test("a missing registry with a backup does not count as empty", async () => {
  await add("one", A);
  await add("two", B);
  rmSync(registryPath(root));
  expect((await refusal(() => add("three", A))).code).toBe("REGISTRY_BROKEN");
  rmSync(backupPath(root));
  expect(await readRegistry(root)).toEqual(new Map());
});

test("a link, a FIFO and a folder in the registry's place are refused and not followed", async () => {
  const elsewhere = join(root, "elsewhere");
  writeFileSync(elsewhere, good);
  symlinkSync(elsewhere, registryPath(root));
  expect((await refusal(() => readRegistry(root))).code).toBe("PLANTED_LINK");
  rmSync(registryPath(root));
  Bun.spawnSync(["mkfifo", registryPath(root)]);
  expect((await refusal(() => readRegistry(root))).code).toBe("NOT_A_FILE");
  rmSync(registryPath(root));
  mkdirSync(registryPath(root));
  expect((await refusal(() => add("one", A))).code).toBe("NOT_A_FILE");
});

test("a change of a hard-linked registry leaves the other name unchanged", async () => {
  const bystander = join(root, "bystander");
  writeFileSync(bystander, good);
  linkSync(bystander, registryPath(root));
  await add("three", A);
  expect(readFileSync(bystander, "utf8")).toBe(good);
});
