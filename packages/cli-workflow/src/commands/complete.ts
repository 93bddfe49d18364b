import { openLocalHost } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { type Candidate, candidatesFor, type Dynamic, files } from "../completion/completion.ts";
import { oneLine } from "../output/text.ts";
import { ago } from "../output/time.ts";
import type { Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

const shownThreads = 50;

export function define(
  command: Command,
  perform: Perform,
  load: (other: Command) => Promise<void>,
): void {
  const program = command.parent ?? command;
  command.argument("[words...]", "the words up to the cursor").action(
    perform(async (session: Session, _options: unknown, words: string[]) => {
      const found = await candidatesFor(program, words, load, stored(session, words));
      const document = found === files ? [{ value: ":files", about: "" }] : found;
      session.show(document, () => document.map(lineOf).join(""));
    }),
  );
}

const lineOf = ({ value, about }: Candidate): string =>
  about === "" ? `${value}\n` : `${value}\t${oneLine(about)}\n`;

function stored(session: Session, words: string[]): Dynamic {
  const named = words[words.indexOf("--root") + 1];
  const host = () => (words.includes("--root") ? openLocalHost({ path: named }) : session.host);
  return {
    workflows: () =>
      quietly(async () => {
        const rows = await host().workflows();
        return rows.map(({ name, description }) => ({ value: name, about: description }));
      }),
    threads: () =>
      quietly(async () => {
        const now = Date.now();
        const { rows } = await host().threads({ limit: shownThreads, paged: false });
        return rows.map(({ threadId, status, workflow, createdAt }) => ({
          value: threadId,
          about: `${workflow}, ${status}, ${ago(createdAt, now)}`,
        }));
      }),
    steps: () =>
      quietly(async () => {
        const id = words.slice(1).find((word) => /^(@last|[0-9A-Za-z]{4,26})$/.test(word)) ?? "";
        const { hash } = await host().find(id);
        const descriptor = await host().descriptor(hash);
        return Object.entries(descriptor?.roles ?? {}).map(([value, { description }]) => ({
          value,
          about: description,
        }));
      }),
  };
}

// Completion shows no error: what can't be read has no candidates.
async function quietly(list: () => Promise<Candidate[]>): Promise<Candidate[]> {
  try {
    return await list();
  } catch {
    return [];
  }
}
