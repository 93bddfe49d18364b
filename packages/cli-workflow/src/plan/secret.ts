import { exitCodes } from "../output/exit-code.ts";
import type { Sink } from "../output/output.ts";
import { readText } from "../arguments/values.ts";
import { defineSubcommand } from "../session/command.ts";
import { wrongUse } from "../session/errors.ts";
import { homeOf } from "./home.ts";

export const secret = defineSubcommand({
  summary: "store, list and remove credentials of steps",
  onCluster: { refused: "credentials are never stored there; each worker's machine has its own" },
  examples: ["uncaged-workflow plan secret list"],
  commands: {
    set: defineSubcommand({
      summary: "store a credential; its value is read hidden, or from stdin",
      declare: (command) => command.argument("<name>", "the variable, such as GITHUB_TOKEN"),
      examples: [
        "uncaged-workflow plan secret set GITHUB_TOKEN",
        "gh auth token | tr -d '\\n' | uncaged-workflow plan secret set GITHUB_TOKEN",
      ],
      async run(session, _options, name: string) {
        const { checkSecretName, openSecrets } = await import("@uncaged/workflow-plan/service");
        const secrets = openSecrets(await homeOf(session), { creates: true });
        checkSecretName(name);
        const value = process.stdin.isTTY
          ? await hiddenLine(`${name}: `, session.output.notes)
          : await readText("-", "the value");
        if (value === null) return exitCodes.interrupted;
        if (value.trim() === "")
          throw wrongUse(`the value of ${name} is blank`, "nothing was stored");
        secrets.set(name, value);
        if (value.endsWith("\n"))
          session.note("the value ends with a newline, which is part of it");
        session.show({ name, stored: true }, () => `stored ${name}\n`);
        return exitCodes.done;
      },
    }),
    list: defineSubcommand({
      summary: "list the names of the credentials",
      examples: ["uncaged-workflow plan secret list --json"],
      async run(session) {
        const { openSecrets } = await import("@uncaged/workflow-plan/service");
        const names = openSecrets(await homeOf(session)).names();
        if (names.length === 0)
          session.note("no credentials yet; store one: uncaged-workflow plan secret set NAME");
        session.show(names, () => names.map((name) => `${name}\n`).join(""));
      },
    }),
    remove: defineSubcommand({
      summary: "remove a credential",
      declare: (command) => command.argument("<secret>", "its name"),
      examples: ["uncaged-workflow plan secret remove GITHUB_TOKEN"],
      async run(session, _options, name: string) {
        const { openSecrets } = await import("@uncaged/workflow-plan/service");
        openSecrets(await homeOf(session), { creates: true }).remove(name);
        session.show({ name, stored: false }, () => `removed ${name}\n`);
      },
    }),
  },
});

const enter = /[\r\n]/;
const codes = { interrupt: "\u0003", end: "\u0004", erase: "\u007f", back: "\b", kill: "\u0015" };

/** Reads a line from the terminal without echo; null after Ctrl-C or Ctrl-D. */
async function hiddenLine(prompt: string, notes: Sink): Promise<string | null> {
  const { stdin } = process;
  // Raw mode must come before the prompt, because the terminal would echo keys typed at once.
  stdin.setRawMode(true);
  try {
    notes.write(prompt);
    let typed = "";
    for await (const chunk of stdin) {
      for (const char of String(chunk)) {
        if (char === codes.interrupt || (char === codes.end && typed === "")) return null;
        if (enter.test(char) || char === codes.end) return typed;
        if (char === codes.kill) typed = "";
        else if (char === codes.erase || char === codes.back)
          typed = Array.from(typed).slice(0, -1).join("");
        else typed += char;
      }
    }
    return typed;
  } finally {
    stdin.setRawMode(false);
    notes.write("\n");
  }
}
