import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  blobsDir,
  bundlePath,
  dataPath,
  journalPath,
  mapPath,
  type Root,
} from "../../workflow/src/disk/paths.ts";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { attestThread } from "../../workflow/src/local/upkeep/attest.ts";
import { readStatement, type Statement } from "../../workflow/src/local/upkeep/attestation.ts";
import { checkStatement } from "../../workflow/src/local/upkeep/attested.ts";
import { codeOf } from "../../workflow/test/fixtures/until.ts";
import { copyOf, emptyRoot, recordedThread } from "../../workflow/test/fixtures/attested.ts";
import { removeFolders, Store } from "./program.ts";

setDefaultTimeout(600_000);
afterAll(removeFolders);

const makers = { engine: { name: "e", version: "1" }, runtime: { name: "r", version: "2" } };

/** Returns a generator of pseudorandom numbers below a bound. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const idOf = (n: number) => `01KQXKW18CT8G75T53R8${String(n).padStart(6, "0")}`;
const contents = ["step", "", "é\u2028\u0000", "{}", '"\\"', "a\nb", "x".repeat(5000)];

/** Records threads from a seed, some of them forks, and attests each thread. */
async function attested(root: Root, seed: number, count: number): Promise<Statement[]> {
  const next = numbers(seed);
  const made: Statement[] = [];
  for (let n = 0; n < count; n += 1) {
    const source = made.length > 0 && next(4) === 0 ? made[next(made.length)] : undefined;
    const { hash = "", threadId = "", steps = 0 } = source?.predicate.thread ?? {};
    const ref = await recordedThread(root, {
      threadId: idOf(seed * 1000 + n),
      ...{ steps: next(9), entries: next(5) },
      ...{ prompt: contents[next(7)] ?? "", content: contents[next(7)] ?? "" },
      ...(steps > 0 && { fork: { hash, threadId } }),
    });
    made.push(await attestThread(root, ref, makers));
  }
  return made;
}

test("the attestations of 500 valid threads hold", async () => {
  const { root, remove } = emptyRoot();
  const statements = await attested(root, 1, 500);
  const wrong = statements.flatMap((statement) => {
    const { statement: read, unknown } = readStatement(JSON.stringify(statement));
    expect(unknown).toEqual([]);
    return checkStatement(root, read).filter(({ result }) => result !== "holds");
  });
  expect(wrong).toEqual([]);
  remove();
});

test("a flipped bit of each file is reported with the file and the line", async () => {
  const made = emptyRoot();
  const statements = await attested(made.root, 2, 6);
  for (const [n, statement] of statements.entries()) {
    const { root, remove } = copyOf(made.root);
    const { hash, threadId } = statement.predicate.thread;
    const next = numbers(n + 10);
    const blobs = blobsDir(root, hash, threadId);
    const files = [
      dataPath(root, hash, threadId),
      journalPath(root, hash, threadId),
      bundlePath(root, hash),
      mapPath(root, hash),
      ...readdirSync(blobs).map((name) => join(blobs, name)),
    ];
    for (const path of files) {
      const before = readFileSync(path);
      const every = Math.max(1, Math.floor(before.length / 400));
      for (let at = next(every); at < before.length; at += every) {
        const changed = Buffer.from(before);
        changed[at] = (changed[at] ?? 0) ^ (1 << next(8));
        writeFileSync(path, changed);
        const found = checkStatement(root, statement).filter(({ result }) => result === "differs");
        const place = { path, at, found: found.map((one) => one.path) };
        expect(place.found).toContain(path);
        if (!path.endsWith(".jsonl")) continue;
        const line = before.subarray(0, at).toString("latin1").split("\n").length;
        const part = path.endsWith("data.jsonl") ? "log" : "journal";
        const check = found.find((one) => one.part === part);
        expect({ at, line: check?.line }).toEqual({ at, line });
      }
      writeFileSync(path, before);
    }
    expect(checkStatement(root, statement).every(({ result }) => result === "holds")).toBe(true);
    remove();
  }
  made.remove();
});

/** Yields a function for each value inside a JSON value. The function replaces or removes that value. */
function* places(value: unknown): Generator<(change: unknown) => void> {
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    yield (change) => {
      if (change === undefined) Reflect.deleteProperty(value, key);
      else Object.assign(value, { [key]: change });
    };
    yield* places((value as Record<string, unknown>)[key]);
  }
}

test("a statement with a missing, null or retyped field is refused, or does not hold", async () => {
  const { root, remove } = emptyRoot();
  const [statement] = await attested(root, 3, 1);
  const json = JSON.stringify(statement);
  const count = [...places(JSON.parse(json))].length;
  for (const change of [undefined, null, 0, -1, "x", "", [], {}, true, "__proto__", 1e300]) {
    for (let n = 0; n < count; n += 1) {
      const copy = JSON.parse(json) as Statement;
      [...places(copy)][n]?.(change);
      if (JSON.stringify(copy) === json) continue;
      const read = async () => readStatement(JSON.stringify(copy)).statement;
      const code = await codeOf(read());
      expect(code).toMatch(/^(no error: |NOT_AN_ATTESTATION$)/);
      if (code.startsWith("no error")) checkStatement(root, await read());
    }
  }
  remove();
});

describe.skipIf(Bun.which("ssh-keygen") === null)("ssh-keygen", () => {
  const store = new Store();
  const at = (name: string) => join(store.folder, name);
  const verify = async (file: string, key: string, env = {}) => {
    const args = ["verify", "--attestation", file, "--key", key, "--json"];
    const { code, stdout } = await store.run(args, { env });
    const { checks = [] } = JSON.parse(stdout) as { checks?: { result: string }[] };
    const isFound = checks.length === 0 || checks.some(({ result }) => result !== "holds");
    return { code, isFound };
  };

  test.each(["rsa", "ecdsa", "ed25519"])("signs with a key of %s", async (type) => {
    const ref = await recordedThread(openRoot({ path: store.root }), {
      threadId: idOf(type.length),
    });
    Bun.spawnSync(["ssh-keygen", "-q", "-t", type, "-N", "", "-f", at(type)]);
    await store.ok(["attest", ref.threadId, "--key", type, "-o", `${type}.json`]);
    expect(await verify(`${type}.json`, `${type}.pub`)).toEqual({ code: 0, isFound: false });
    // The key is only in ssh-agent.
    const socket = at(`${type}.sock`);
    const agent = Bun.spawn(["ssh-agent", "-D", "-a", socket], { stdout: "pipe" });
    await agent.stdout.getReader().read();
    const env = { SSH_AUTH_SOCK: socket };
    Bun.spawnSync(["ssh-add", "-q", at(type)], { env: { ...process.env, ...env } });
    writeFileSync(at(`lone-${type}.pub`), readFileSync(at(`${type}.pub`)));
    const args = ["attest", ref.threadId, "--key", `lone-${type}.pub`, "-o", `agent-${type}.json`];
    await store.ok(args, { env });
    agent.kill();
    expect(await verify(`agent-${type}.json`, `${type}.pub`)).toEqual({ code: 0, isFound: false });
  });

  test("a flipped bit of an envelope is reported", async () => {
    const { threadId } = await recordedThread(openRoot({ path: store.root }), {
      threadId: idOf(9),
      steps: 1,
    });
    Bun.spawnSync(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at("flip")]);
    await store.ok(["attest", threadId, "--key", "flip", "-o", "flip.json"]);
    const before = readFileSync(at("flip.json"));
    const next = numbers(5);
    const isOutside = (n: number) => n < 20 || n > before.lastIndexOf('"payloadType"');
    for (let n = 0; n < before.length; n += isOutside(n) ? 1 : 1 + next(40)) {
      const changed = Buffer.from(before);
      changed[n] = (changed[n] ?? 0) ^ (1 << next(8));
      writeFileSync(at("flipped.json"), changed);
      const { isFound } = await verify("flipped.json", "flip.pub");
      expect({ n, text: changed.toString("latin1", n - 9, n + 9), isFound }).toMatchObject({
        isFound: true,
      });
    }
  });

  test("only one of twenty calls with the same file writes that file", async () => {
    const calls = Array.from({ length: 20 }, () =>
      store.run(["attest", idOf(9), "--key", "flip", "-o", "one.json"]),
    );
    const codes = (await Promise.all(calls)).map(({ code }) => code);
    expect(codes.toSorted((a, b) => a - b)).toEqual([0, ...Array.from({ length: 19 }, () => 2)]);
    expect(await verify("one.json", "flip.pub")).toEqual({ code: 0, isFound: false });
  });
});
