import { existsSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { attestThread } from "@uncaged/workflow/internal";
import manifest from "../../package.json" with { type: "json" };
import { outNotWritable } from "../arguments/errors.ts";
import { envelopeJson } from "../attest/envelope.ts";
import { outExists } from "../attest/errors.ts";
import { checkKey, signed } from "../attest/sign.ts";
import { exitCodes } from "../output/exit-code.ts";
import { codeOf } from "../output/output.ts";
import { defineCommand } from "../session/command.ts";
import type { Session } from "../session/session.ts";

const makers = {
  engine: { name: "uncaged-workflow", version: manifest.version },
  runtime: { name: "bun", version: Bun.version },
};

export default defineCommand({
  onCluster: { refused: "attest reads files of a storage root: pull the thread first" },
  onServer: { refused: "attest reads files of a storage root: call it on the server's machine" },
  declare: (command) =>
    command
      .argument("<id>", "a thread that has ended, or @last")
      .requiredOption("--key <file>", "the private key of SSH or minisign")
      .option("-o, --out <file>", "the file to write, which must not exist (default: stdout)"),
  examples: [
    "uncaged-workflow attest @last --key ~/.ssh/id_ed25519 -o review.intoto.json",
    "uncaged-workflow attest @last --key ~/.ssh/id_ed25519.pub > review.intoto.json",
  ],
  async run(session, { key, out }: { key: string; out?: string }, id: string) {
    const ref = await session.host.find(id);
    const path = out === undefined ? null : resolve(session.cwd, out);
    if (path !== null && existsSync(path)) throw outExists(out ?? "");
    checkKey(session, key);
    const statement = await attestThread(session.host.root, ref, makers);
    const envelope = await signed(session, key, statement);
    if (envelope === null) return exitCodes.interrupted;
    const document = envelopeJson(envelope);
    const text = `${JSON.stringify(document)}\n`;
    if (path !== null) write(session, path, text);
    const [signature] = envelope.signatures;
    const written = { threadId: ref.threadId, path, keyid: signature?.keyid };
    session.show(path === null ? document : written, () => (path === null ? text : `${path}\n`));
    return exitCodes.done;
  },
});

/** Writes a new file of the user atomically. */
function write(session: Session, path: string, text: string): void {
  try {
    session.withUsersUmask(() => writeFileSync(path, text, { flag: "wx" }));
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") throw outExists(path);
    if (!["ENOENT", "EACCES", "ENOTDIR", "EROFS"].includes(code)) rmSync(path, { force: true });
    throw outNotWritable(path, code || "unknown reason");
  }
}
