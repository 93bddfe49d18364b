import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hashOf } from "../src/bundle/hash.ts";
import { copyBundle, copyWorkflow, moveThread } from "../src/host/move.ts";
import { openLocalHost } from "../src/local/host.ts";
import { movingRoot } from "../src/local/upkeep/move.ts";
import {
  bundlePath,
  dataPath,
  descriptorPath,
  registryPath,
  type Root,
} from "../src/disk/paths.ts";
import { sha256 } from "../src/record/sha256.ts";
import { asker } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { twinOf } from "./fixtures/twin.ts";
import { codeOf, until } from "./fixtures/until.ts";

afterEach(removeStores);

/** A workflow `asks` whose bundle can be replaced by a twin, and a thread of it that waits without a worker. */
async function waiting() {
  const store = new TestStore();
  const { root, folder } = store;
  const host = openLocalHost({ path: root });
  const file = join(folder, "asks.esm.js");
  writeFileSync(file, asker);
  const { hash } = await host.register("asks", file);
  const start = () => host.start({ workflow: "asks", prompt: "", cwd: folder, env: store.env });
  const { threadId } = await start();
  const ref = { hash, threadId };
  await until(() => store.roles(ref).includes("__wait__"));
  await store.signalWorkers("SIGKILL");
  const mark = join(folder, "the twin has run");
  const code = `import { writeFileSync } from "node:fs";
try { writeFileSync(${JSON.stringify(mark)}, ""); } catch { /* this bundle is being inspected */ }
${asker}`;
  const twin = twinOf(Buffer.from(asker), code);
  const twinFile = join(folder, "twin.esm.js");
  writeFileSync(twinFile, twin);
  return {
    ...{ store, root, host, file, twinFile, hash, ref, start, twin },
    replace: () => writeFileSync(bundlePath(root, hash), twin),
    hasRun: () => existsSync(mark),
    answer: () => host.control(ref, { kind: "answer", env: store.env, input: { content: "yes" } }),
  };
}

const problemsOf = async (root: Root) =>
  (await openLocalHost({ path: root }).verify()).problems.map(({ path }) => path);

test("a twin has the hash of its bundle, and other bytes", () => {
  const bytes = twinOf(Buffer.from(asker), asker);
  expect(hashOf(bytes)).toBe(hashOf(Buffer.from(asker)));
  expect(sha256(bytes)).not.toBe(sha256(asker));
});

describe("a twin in a bundle's place", () => {
  test("is refused by a start, an answer, a fork and verify, and never runs; adding the right file restores the bundle", async () => {
    const at = await waiting();
    at.replace();
    const { host, store, ref, hash, root } = at;
    const fork = (keep: number) => host.fork(ref, { keep: { atStep: keep }, env: store.env });
    for (const act of [
      at.start,
      at.answer,
      () => fork(0),
      () => fork(1),
      () => host.version("asks"),
      () => host.source("asks"),
      () => host.start({ workflow: hash, prompt: "", cwd: "/", env: {} }),
    ]) {
      expect(await codeOf(act())).toBe("BUNDLE_CHANGED");
    }
    const error = (await at.start().catch((thrown: unknown) => thrown)) as Error & { hint: string };
    expect(error.message).toStartWith(
      `${bundlePath(root, hash)}: its SHA-256 differs from the record in `,
    );
    expect(error.message).toContain(`${registryPath(root)}:`);
    expect(error.message).not.toContain("\n");
    expect(error.hint).toContain("uncaged-workflow add");
    expect(await problemsOf(root)).toContain(bundlePath(root, hash));
    expect(at.hasRun()).toBe(false);
    expect(store.lines(ref)).toHaveLength(2);
    await host.register("asks", at.file);
    expect(await problemsOf(root)).toEqual([]);
    await at.answer();
    await store.whenStatus(ref, "completed");
  });

  test("is refused when it is added, even if the bundle is missing", async () => {
    const { host, twinFile, hash, root, ref, replace, file } = await waiting();
    const add = (name: string) => codeOf(host.register(name, twinFile));
    expect(await add("asks")).toBe("HASH_COLLISION");
    expect(await add("other")).toBe("HASH_COLLISION");
    rmSync(bundlePath(root, hash));
    expect(await add("asks")).toBe("HASH_COLLISION");
    // The start record and the seal suffice to detect the collision.
    await host.unregister("asks");
    expect(await add("asks")).toBe("HASH_COLLISION");
    rmSync(dataPath(root, hash, ref.threadId));
    replace();
    expect(await add("asks")).toBe("HASH_COLLISION");
    await host.register("asks", file);
    expect(readFileSync(bundlePath(root, hash), "utf8")).toBe(asker);
  });

  test.each(["registry", "thread", "seal"])(
    "is refused even if only the %s records the SHA-256 of the bundle",
    async (one) => {
      const { host, root, hash, ref, answer, replace, hasRun } = await waiting();
      const without = (path: string, pattern: RegExp) =>
        writeFileSync(path, readFileSync(path, "utf8").replace(pattern, ""));
      if (one !== "registry") await host.unregister("asks");
      if (one !== "seal") without(descriptorPath(root, hash), /^# uncaged-workflow .*\n/);
      if (one !== "thread") {
        const path = dataPath(root, hash, ref.threadId);
        const text = readFileSync(path, "utf8").replace(/"sha256":"\w+",/, "");
        writeFileSync(path, text.replaceAll(/,"sum":"\w+"\}/g, "}"));
      }
      replace();
      expect(await codeOf(answer())).toBe("BUNDLE_CHANGED");
      expect(hasRun()).toBe(false);
    },
  );

  test("is refused in a store of an earlier version after that store records the SHA-256 of its bundles", async () => {
    const store = new TestStore();
    const hash = await store.add(asker);
    const path = descriptorPath(store.root, hash);
    writeFileSync(path, readFileSync(path, "utf8").replace(/^# uncaged-workflow .*\n/, ""));
    writeFileSync(
      registryPath(store.root),
      `workflows:\n  asks:\n    hash: "${hash}"\n    timestamp: 1\n    history: []\n`,
      { mode: 0o600 },
    );
    const host = openLocalHost({ path: store.root });
    expect(await host.history("asks")).toMatchObject([{ sha256: null }]);
    expect((await host.verify()).problems).toEqual([]);
    const file = join(store.folder, "second.esm.js");
    writeFileSync(file, `${asker}// another\n`);
    await host.register("other", file);
    expect(await host.history("asks")).toMatchObject([{ sha256: sha256(asker) }]);
    writeFileSync(bundlePath(store.root, hash), twinOf(Buffer.from(asker), asker));
    expect(await codeOf(store.start(hash))).toBe("BUNDLE_CHANGED");
  });
});

describe("between hosts", () => {
  test("a twin is neither sent nor accepted, and nothing is changed", async () => {
    const [one, other] = [await waiting(), new TestStore()];
    const [from, to] = [movingRoot(one.root, "here"), movingRoot(other.root, "there")];
    one.replace();
    expect(await codeOf(copyBundle(from, to, one.hash))).toBe("BUNDLE_CHANGED");
    expect(await codeOf(copyWorkflow(from, to, "asks"))).toBe("BUNDLE_CHANGED");
    expect(await codeOf(moveThread(from, to, one.ref))).toBe("BUNDLE_CHANGED");
    expect(existsSync(bundlePath(other.root, one.hash))).toBe(false);
    await one.host.register("asks", one.file);
    // The other host has the twin under this hash. Each bundle is valid on its own host.
    const [theirs, host] = [
      join(other.folder, "theirs.esm.js"),
      openLocalHost({ path: other.root }),
    ];
    writeFileSync(theirs, one.twin);
    await host.register("theirs", theirs);
    for (const act of [
      () => copyBundle(from, to, one.hash),
      () => copyWorkflow(from, to, "asks"),
      () => moveThread(from, to, one.ref),
    ]) {
      expect(await codeOf(act())).toBe("HASH_COLLISION");
    }
    expect(readFileSync(bundlePath(other.root, one.hash)).equals(one.twin)).toBe(true);
    expect((await one.store.read(one.ref)).status).toBe("waiting");
  });

  test("a moved name and thread keep their SHA-256", async () => {
    const [one, other] = [await waiting(), new TestStore()];
    const [from, to] = [movingRoot(one.root, "here"), movingRoot(other.root, "there")];
    await copyWorkflow(from, to, "asks");
    await moveThread(from, to, one.ref);
    const host = openLocalHost({ path: other.root });
    expect(await host.history("asks")).toMatchObject([{ sha256: sha256(asker), threads: 1 }]);
    expect(other.lines(one.ref)[0]).toMatchObject({ sha256: sha256(asker) });
    expect(await problemsOf(other.root)).toEqual([]);
    writeFileSync(bundlePath(other.root, one.hash), one.twin);
    const input = { content: "yes" };
    const answer = host.control(one.ref, { kind: "answer", env: other.env, input });
    expect(await codeOf(answer)).toBe("BUNDLE_CHANGED");
  });
});
