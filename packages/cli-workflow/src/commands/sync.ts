import { bundleHash } from "@uncaged/workflow/internal";
import { forEachListed, type Listed, listedWorkflows } from "../arguments/listed.ts";
import { sourcesFor } from "../arguments/names.ts";
import { exitCodes } from "../output/exit-code.ts";
import { count } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";
import type { Session } from "../session/session.ts";

type Options = { check?: boolean };

/**
 * State of a listed workflow: `hash` is the hash of the built source, `registered` the hash that the name points to.
 */
type Synced = {
  name: string;
  state: "unchanged" | "added" | "changed" | "missing";
  hash: string;
  registered: string | null;
};

export default defineCommand({
  declare: (command) =>
    command
      .option("--check", "only check, and fail if a source differs from its registered version")
      .option("--no-check", "register changed workflows even if the variable CI is set"),
  examples: [
    "uncaged-workflow sync",
    "uncaged-workflow sync --check",
    "uncaged-workflow sync --check --json | jq '.workflows[] | select(.state != \"unchanged\")'",
  ],
  async run(session, { check = isCi(session.env) }: Options) {
    const listed = listedWorkflows(session);
    const before = new Map(
      (await session.host.workflows()).map(({ name, hash }) => [name, hash] as const),
    );
    const { results, exitCode } = await forEachListed(session, listed, async (one) => {
      const synced = await sync(session, one, before.get(one.name) ?? null, check);
      if (!session.json) session.write(`${synced.hash}  ${synced.name}  ${sentence(synced)}\n`);
      return synced;
    });
    const names = new Set(listed.map(({ name }) => name));
    const unlisted = [...before.keys()].filter((name) => !names.has(name));
    const wrong = results.filter((one) => !("state" in one) || isWrong(one.state));
    const ok = wrong.length === 0;
    if (session.json) session.show({ ok, workflows: results, unlisted }, () => "");
    if (unlisted.length > 0) session.note(`registered and not listed: ${unlisted.join(", ")}`);
    if (ok) return exitCodes.done;
    const isOld = results.some((one) => "state" in one && isWrong(one.state));
    const advice = isOld ? "; register them: uncaged-workflow sync --no-check" : "";
    session.note(`${count(wrong.length, "workflow")} of ${listed.length} not in sync${advice}`);
    return exitCode || exitCodes.failed;
  },
});

/** Set by CI services. Any value except an empty value, `0` and `false` means CI. */
const isCi = ({ CI = "" }: Record<string, string>): boolean => !/^(|0|false)$/i.test(CI);

const isWrong = (state: Synced["state"]): boolean => state === "changed" || state === "missing";

async function sync(
  session: Session,
  { name, file }: Listed,
  registered: string | null,
  check: boolean,
): Promise<Synced> {
  const sources = await sourcesFor(session, file);
  if (check) {
    const hash = await bundleHash(file, { sources });
    const state = registered === null ? "missing" : registered === hash ? "unchanged" : "changed";
    return { name, state, hash, registered };
  }
  const { hash, unchanged } = await session.host.register(name, file, {
    sources,
    onWarning: (warning) => session.note(`warning: ${warning}`),
  });
  return { name, state: unchanged ? "unchanged" : "added", hash, registered: hash };
}

function sentence({ state, registered }: Synced): string {
  if (state === "changed") return `changed: ${registered} is registered`;
  return state === "missing" ? "not registered" : state;
}
