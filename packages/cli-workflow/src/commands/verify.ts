import type { Problem } from "@uncaged/workflow/host";
import { count, oneLine } from "../output/text.ts";
import { verifiedText } from "../attest/report.ts";
import { verifyAttestation } from "../attest/verified.ts";
import { defineCommand } from "../session/command.ts";
import { notOnCluster, wrongUse } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { exitCodes } from "../output/exit-code.ts";

type Options = { attestation?: string; key?: string };

export default defineCommand({
  declare: (command) =>
    command
      .option("--attestation <file>", "check an attestation instead of the storage root")
      .option("--key <file>", "the signer's public key, or an allowed-signers file of ssh-keygen"),
  examples: [
    "uncaged-workflow verify",
    "uncaged-workflow verify --json | jq .problems",
    "uncaged-workflow verify --attestation review.intoto.json --key id_ed25519.pub",
  ],
  async run(session, { attestation, key }: Options) {
    if (attestation !== undefined) return await verifyOne(session, attestation, key);
    if (key !== undefined)
      throw wrongUse("--key needs --attestation", "name the attestation: --attestation <file>");
    let done = 0;
    const spinner = session.spinner(() => [`${count(done, "file")} checked`]);
    const onProgress = () => {
      done += 1;
    };
    const found = await session.host.verify({ onProgress }).finally(() => spinner.stop());
    const { checked, problems, withoutSums } = found;
    session.show(found, () => problems.map(lineOf).join(""));
    const what = `${count(checked.bundles, "bundle")} and ${count(checked.threads, "thread")}`;
    if (withoutSums.length > 0) {
      const threads = count(withoutSums.length, "thread");
      session.note(
        `${threads} of an older version have no checksums: some damage may be undetected`,
      );
    }
    const ok = problems.length === 0;
    session.note(ok ? `${what} are sound` : `${count(problems.length, "problem")} in ${what}`);
    return ok ? exitCodes.done : exitCodes.failed;
  },
});

const reason = "an attestation is compared with the files of a storage root";

async function verifyOne(session: Session, attestation: string, key?: string): Promise<number> {
  if (key === undefined)
    throw wrongUse("--attestation needs --key", "name the signer's public key: --key <file>");
  session.refuseServer(reason);
  const chosen = session.clusterChosen;
  if (chosen) {
    const why = { chosenBy: chosen.by, reason, kind: session.hostKind };
    throw notOnCluster("verify --attestation", why);
  }
  const found = await verifyAttestation(session, { attestation, key });
  session.show(found, () => verifiedText(found, session.paint));
  session.note(found.holds ? "the attestation holds" : "the attestation does not hold");
  return found.holds ? exitCodes.done : exitCodes.failed;
}

function lineOf({ path, line, offset, message }: Problem): string {
  const at = line === undefined ? "" : `:${line}`;
  const byte = offset === undefined ? "" : ` (at byte ${offset})`;
  return `${path}${at}: ${oneLine(message)}${byte}\n`;
}
