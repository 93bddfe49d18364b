import { type Host, openLocalHost } from "@uncaged/workflow/host";
import {
  type Candidate,
  candidatesFor,
  type Stored,
  type Wanted,
} from "../completion/completion.ts";
import { ago, oneLine } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";
import type { Session } from "../session/session.ts";

const shownThreads = 50;
const shownSteps = 20;

export default defineCommand({
  // An unreachable host yields no candidates.
  onCluster: "unused",
  declare: (command) => command.argument("[words...]", "the words up to the cursor"),
  examples: [],
  async run(session, _options, words: string[]) {
    const { command, load } = session.called;
    const program = command.parent ?? command;
    const found = await candidatesFor(program, words, load, storedBy(session, words));
    const lines = found.map(({ value, about }) =>
      [value, oneLine(about)].filter(Boolean).join("\t"),
    );
    session.show(found, () => lines.map((line) => `${line}\n`).join(""));
  },
});

function storedBy(session: Session, words: string[]): Stored {
  const named = words[words.indexOf("--root") + 1];
  const open = async () => {
    if (words.includes("--root")) return openLocalHost({ path: named });
    await session.openHost(undefined);
    return session.host;
  };
  // Completion shows no errors: an unreadable source yields no candidates.
  const orNone =
    (list: (host: Host, wanted: Wanted) => Promise<Candidate[]>) => async (wanted: Wanted) => {
      try {
        return await list(await open(), wanted);
      } catch {
        return [];
      }
    };
  return {
    workflow: orNone(async (host, { current }) => {
      const [name = "", version] = current.split("@");
      if (version !== undefined) return await versionsOf(host, name, `${name}@`);
      const rows = await host.workflows();
      return rows.map(({ name: value, description }) => ({ value, about: description }));
    }),
    version: orNone(async (host, { operands: [name = ""] }) => await versionsOf(host, name)),
    thread: orNone(async (host) => {
      const now = Date.now();
      const { rows } = await host.threads({ limit: shownThreads, paged: false });
      return rows.map(({ threadId, status, workflow, createdAt }) => ({
        value: threadId,
        about: `${workflow}, ${status}, ${ago(createdAt, now)}`,
      }));
    }),
    step: orNone(async (host, { operands: [id = ""] }) => {
      const { hash } = await host.find(id);
      const { roles = {} } = (await host.descriptor(hash)) ?? {};
      return Object.entries(roles).map(([value, role]) => ({ value, about: role.description }));
    }),
    plan: orNone(async () => {
      const { namedPlans } = await import("../plan/named.ts");
      return await namedPlans(session);
    }),
    secret: orNone(async () => {
      const { namedSecrets } = await import("../plan/named.ts");
      return await namedSecrets(session);
    }),
    setting: orNone(async () => {
      const { namedSettings } = await import("../plan/named.ts");
      return await namedSettings();
    }),
    role: orNone(async (host, { operands: [id = ""] }) => {
      const { steps } = await host.read(await host.find(id));
      return rolesOf(steps.map(({ role }) => role));
    }),
  };
}

async function versionsOf(host: Host, name: string, before = ""): Promise<Candidate[]> {
  const now = Date.now();
  return (await host.history(name)).map(({ hash, timestamp, current }) => ({
    value: `${before}${hash}`,
    about: `${ago(timestamp, now)}${current ? ", the current one" : ""}`,
  }));
}

/**
 * Returns candidates for the last step that a fork keeps: each role for its last step, and for a role with several
 * steps also the newest steps by number.
 */
function rolesOf(roles: string[]): Candidate[] {
  const numbers = new Map<string, number[]>();
  for (const [at, role] of roles.entries()) {
    numbers.set(role, [...(numbers.get(role) ?? []), at + 1]);
  }
  return [...numbers].flatMap(([role, at]) => {
    const each = at.map((number, n) => ({ value: `${role}#${n + 1}`, about: `step ${number}` }));
    return [
      { value: role, about: `step ${at.at(-1)}` },
      ...(at.length > 1 ? each.slice(-shownSteps) : []),
    ];
  });
}
