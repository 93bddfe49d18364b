import { closeSync, mkdirSync, openSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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
      () => store.host.threads({ limit }),
    );
    const byCommand = await compare(
      () => finished(script),
      () => finished(command),
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
    ];
  },
});

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

/** Only the newest have anything in their files: no other is opened. */
function fill({ root, hash }: Store): void {
  mkdirSync(threadsDir(root, hash), { recursive: true });
  for (let n = 1; n <= count; n += 1) {
    const threadId = threadIdOf(n);
    const text = n > count - 2 * limit ? endedLog(hash, threadId, 1000) : "";
    for (const path of [dataPath, infoPath].map((of) => of(root, hash, threadId))) {
      const fd = openSync(path, "wx", 0o600);
      if (text) writeFileSync(fd, text);
      closeSync(fd);
    }
  }
}
