import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isWorkflowError } from "../contract/error.ts";
import {
  bundlePath,
  bundlesDir,
  descriptorPath,
  mapPath,
  type Root,
  typesPath,
} from "../disk/paths.ts";
import { openRoot } from "../disk/root.ts";
import { readDescriptor } from "./descriptor-yaml.ts";
import { hashOf } from "./hash.ts";
import { loadBundle, putBundle, readBundle } from "./store.ts";

let root: Root;
beforeEach(async () => {
  root = openRoot({ path: await mkdtemp(join(tmpdir(), "store-test-")) });
});
afterEach(() => rm(root, { recursive: true, force: true }));

const bytes = (text: string) => new TextEncoder().encode(text);
const descriptor = { description: "x", roles: {} };
const source = `export const descriptor = ${JSON.stringify(descriptor)};
export async function* run() { yield { role: "a", content: "", meta: {} }; return { returnCode: 0, summary: "" }; }
`;
const put = (text: string) => putBundle(root, bytes(text), { descriptor });
const errorOf = async (promise: Promise<unknown>) => {
  const error: unknown = await promise.then(
    () => new Error("no error"),
    (thrown: unknown) => thrown,
  );
  if (!isWorkflowError(error)) throw error;
  return error;
};

describe("putBundle", () => {
  test("stores the exact bytes under their hash, with the files beside them", async () => {
    const odd = new Uint8Array([...bytes(source), 0xff, 0x00]);
    const hash = await putBundle(root, odd, { descriptor, types: "export {};", map: "{}" });
    expect(hash).toBe(hashOf(odd));
    expect(new Uint8Array(await readFile(bundlePath(root, hash)))).toEqual(odd);
    expect(readDescriptor(await Bun.file(descriptorPath(root, hash)).text(), "d")).toEqual(
      descriptor,
    );
    expect(readdirSync(bundlesDir(root)).toSorted()).toEqual(
      [".d.ts", ".esm.js", ".map", ".yaml"].map((ending) => hash + ending),
    );
  });

  test("makes folders of mode 0700 and files of mode 0600", async () => {
    const hash = await put(source);
    expect(statSync(bundlesDir(root)).mode & 0o777).toBe(0o700);
    expect(statSync(bundlePath(root, hash)).mode & 0o777).toBe(0o600);
    expect(statSync(descriptorPath(root, hash)).mode & 0o777).toBe(0o600);
  });

  test("writes the same bytes into new files when called again", async () => {
    const hash = await put(source);
    const paths = [bundlePath(root, hash), descriptorPath(root, hash)];
    const before = paths.map((path) => ({
      ino: statSync(path).ino,
      text: readFileSync(path, "utf8"),
    }));
    expect(await put(source)).toBe(hash);
    for (const [at, path] of paths.entries()) {
      expect(statSync(path).ino).not.toBe(before[at]?.ino ?? 0);
      expect(readFileSync(path, "utf8")).toBe(before[at]?.text ?? "");
    }
  });

  test("restores a changed bundle and a lost descriptor", async () => {
    const hash = await put(source);
    await writeFile(bundlePath(root, hash), "changed");
    await rm(descriptorPath(root, hash));
    expect(await put(source)).toBe(hash);
    expect(await Bun.file(bundlePath(root, hash)).text()).toBe(source);
    expect(await Bun.file(descriptorPath(root, hash)).exists()).toBe(true);
  });

  test("adds types to a bundle stored without them", async () => {
    const hash = await put(source);
    await putBundle(root, bytes(source), { descriptor, types: "export {};" });
    expect(await Bun.file(typesPath(root, hash)).text()).toBe("export {};");
  });

  test("keeps the first files beside a bundle, and restores a lost file only from the first content", async () => {
    const first = { descriptor, types: "export {};", map: '{"sources":["first.ts"]}' };
    const hash = await putBundle(root, bytes(source), first);
    const stored = () =>
      [descriptorPath, typesPath, mapPath].map((path) => readFileSync(path(root, hash), "utf8"));
    const before = stored();
    const others = { description: "other", roles: descriptor.roles };
    await putBundle(root, bytes(source), { descriptor: others, types: "other", map: "{}" });
    await put(source);
    expect(stored()).toEqual(before);
    await rm(mapPath(root, hash));
    await put(source);
    expect(readFileSync(descriptorPath(root, hash), "utf8")).toBe(before[0] ?? "");
    await putBundle(root, bytes(source), first);
    expect(stored()).toEqual(before);
  });

  test("leaves only the files of one bundle after twenty concurrent calls", async () => {
    const hashes = await Promise.all(Array.from({ length: 20 }, () => put(source)));
    expect(new Set(hashes).size).toBe(1);
    expect(readdirSync(bundlesDir(root))).toHaveLength(2);
  });
});

describe("readBundle", () => {
  test("returns the stored bytes", async () => {
    expect(await readBundle(root, await put(source))).toEqual(bytes(source));
  });

  test("refuses a missing bundle", async () => {
    const { code, kind } = await errorOf(readBundle(root, "EYHPV6X8XHTCS"));
    expect([code, kind]).toEqual(["BUNDLE_MISSING", "missing"]);
  });

  test("refuses a bundle with one changed byte", async () => {
    const hash = await put(source);
    await writeFile(bundlePath(root, hash), source.replace("role", "rolE"));
    const { code, kind, message } = await errorOf(readBundle(root, hash));
    expect([code, kind]).toEqual(["BUNDLE_CHANGED", "failed"]);
    expect(message).toContain(bundlePath(root, hash));
  });

  test("refuses a symbolic link", async () => {
    const hash = await put(source);
    await writeFile(join(root, "other.js"), source);
    await rm(bundlePath(root, hash));
    await symlink(join(root, "other.js"), bundlePath(root, hash));
    expect((await errorOf(readBundle(root, hash))).code).toBe("PLANTED_LINK");
  });
});

describe("loadBundle", () => {
  test("returns the exports run and descriptor", async () => {
    const bundle = await loadBundle(root, await put(source));
    expect(bundle.descriptor).toEqual(descriptor);
    const step = await bundle.run({ prompt: "", steps: [] }, { threadId: "", maxRounds: 1 }).next();
    expect(step.value).toEqual({ role: "a", content: "", meta: {} });
  });

  test("does not run a changed bundle", async () => {
    const hash = await put(`${source}// untouched`);
    await writeFile(bundlePath(root, hash), "globalThis.wasLoaded = true;");
    expect((await errorOf(loadBundle(root, hash))).code).toBe("BUNDLE_CHANGED");
    expect(globalThis).not.toHaveProperty("wasLoaded");
  });

  test("reports the position of an error at a bundle's top level", async () => {
    const hash = await put(`${source}\nthrow new Error("no key");`);
    const { code, message } = await errorOf(loadBundle(root, hash));
    expect(code).toBe("BUNDLE_LOAD_FAILED");
    expect(message).toBe(`${bundlePath(root, hash)}:4:11: no key`);
  });

  test("reports the author's own line when there is a source map", async () => {
    const map = JSON.stringify({ version: 3, sources: ["flow.ts"], names: [], mappings: "AAIE" });
    const hash = await putBundle(root, bytes('throw new Error("no key");'), { descriptor, map });
    expect((await errorOf(loadBundle(root, hash))).message).toBe("flow.ts:5:3: no key");
  });

  test("ignores a broken source map", async () => {
    const hash = await putBundle(root, bytes('throw new Error("x");'), { descriptor, map: "{" });
    expect((await errorOf(loadBundle(root, hash))).message).toBe(
      `${bundlePath(root, hash)}:1:11: x`,
    );
  });

  test("refuses a package that a running bundle requires, even in a root opened through a link", async () => {
    const lazy = source.replace(
      "yield",
      'try { require("yaml") } catch (error) { throw error } yield',
    );
    const hash = await put(lazy);
    const link = `${root}-link`;
    await symlink(root, link);
    try {
      const { run } = await loadBundle(openRoot({ path: link }), hash);
      const step = run({ prompt: "", steps: [] }, { threadId: "", maxRounds: 1 }).next();
      expect(await errorOf(step)).toMatchObject({
        code: "BUNDLE_REFUSED",
        message: 'requires "yaml", which is not a Node built-in',
      });
    } finally {
      await rm(link);
    }
  });

  test("checks the exports again", async () => {
    const hash = await put("export const descriptor = {}; export async function run() {}");
    const { code, message } = await errorOf(loadBundle(root, hash));
    expect(code).toBe("BUNDLE_REFUSED");
    expect(message).toStartWith(`${bundlePath(root, hash)}: run is a plain AsyncFunction`);
  });
});
