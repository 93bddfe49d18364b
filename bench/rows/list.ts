import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openLocalHost } from "../../packages/workflow/src/host.ts";
import {
  dataPath,
  infoPath,
  logsDir,
  threadsDir,
} from "../../packages/workflow/src/storage/paths.ts";
import { type Built, bunArguments } from "../command.ts";
import { inTurn, timed } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { endedLog, makeStore, type Store, threadIdOf } from "../store.ts";

const count = 100_000;
const limit = 20;
const times = 15;
const target = { ratio: 2 };
/** A server lists again and again, and so has an index. */
const inServer = { most: 2 };
const mostBuildMs = 300_000;

/** A page of 20 threads out of 100,000, beside listing their folders. */
export const list = (built: Built): Row => ({
  name: "list",
  async measure(folder) {
    const store = await makeStore(folder);
    fill(store);
    const script = [
      process.execPath,
      ...bunArguments,
      join(built.baseline, "folders.js"),
      store.root,
    ];
    const command = [built.command, "threads", "--limit", String(limit), "--root", store.root];
    const byLibrary = await compare(
      () => readFolders(store),
      () => openLocalHost({ path: store.root }).threads({ limit }),
    );
    const byCommand = await compare(
      () => finished(script),
      () => finished(command),
    );
    await untilIndexed(store);
    const byServer = await compare(
      () => readFolders(store),
      () => store.host.threads({ limit }),
    );
    const what = "20 of 100,000 threads";
    return [
      line(
        { what: `${what}, library`, unit: "ms", against: "listing the folders", target },
        byLibrary,
      ),
      line(
        { what: `${what}, command`, unit: "ms", against: "a script that lists them", target },
        byCommand,
      ),
      line(
        { what: `${what}, server`, unit: "ms", against: "listing the folders", target: inServer },
        byServer,
      ),
    ];
  },
});

/** The index is made while others are answered; it is there once a list reads no folder any more. */
async function untilIndexed({ host }: Store): Promise<void> {
  const until = performance.now() + mostBuildMs;
  while (performance.now() < until) {
    if ((await timed(() => host.threads({ limit }))) < 10) return;
    await Bun.sleep(500);
  }
  throw new Error("the index of the threads was not made in time");
}

async function compare(baseline: () => unknown, ours: () => unknown) {
  await inTurn(
    2,
    () => timed(baseline),
    () => timed(ours),
  );
  return inTurn(
    times,
    () => timed(baseline),
    () => timed(ours),
  );
}

async function finished(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { stdio: ["ignore", "ignore", "inherit"] });
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed`);
}

function readFolders({ root }: Store): void {
  for (const hash of readdirSync(logsDir(root))) readdirSync(join(logsDir(root), hash));
}

/** Small threads that have ended; the newest have a step of some size. */
function fill({ root, hash }: Store): void {
  mkdirSync(threadsDir(root, hash), { recursive: true });
  for (let n = 1; n <= count; n += 1) {
    const threadId = threadIdOf(n);
    const text = endedLog(hash, threadId, n > count - 2 * limit ? 1000 : 10);
    writeFileSync(dataPath(root, hash, threadId), text, { flag: "wx", mode: 0o600 });
    writeFileSync(infoPath(root, hash, threadId), "", { flag: "wx", mode: 0o600 });
  }
}
