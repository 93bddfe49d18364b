import { type Host, openLocalHost } from "@uncaged/workflow/host";
import { type Candidate, candidatesFor, type Stored } from "../completion/completion.ts";
import { ago, oneLine } from "../output/text.ts";
import { defineCommand } from "../session/command.ts";
import type { Session } from "../session/session.ts";

const shownThreads = 50;

export default defineCommand({
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
  const open = () => (words.includes("--root") ? openLocalHost({ path: named }) : session.host);
  // Completion shows no error: what can't be read has no candidates.
  const orNone = (list: (host: Host) => Promise<Candidate[]>) => async () => {
    try {
      return await list(open());
    } catch {
      return [];
    }
  };
  return {
    workflow: orNone(async (host) => {
      const rows = await host.workflows();
      return rows.map(({ name, description }) => ({ value: name, about: description }));
    }),
    thread: orNone(async (host) => {
      const now = Date.now();
      const { rows } = await host.threads({ limit: shownThreads, paged: false });
      return rows.map(({ threadId, status, workflow, createdAt }) => ({
        value: threadId,
        about: `${workflow}, ${status}, ${ago(createdAt, now)}`,
      }));
    }),
    step: orNone(async (host) => {
      const id = words.slice(1).find((word) => /^(@last|[0-9A-Za-z]{4,26})$/.test(word)) ?? "";
      const { hash } = await host.find(id);
      const { roles = {} } = (await host.descriptor(hash)) ?? {};
      return Object.entries(roles).map(([value, role]) => ({ value, about: role.description }));
    }),
  };
}
