import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { lockDevelopment } from "@uncaged/workflow/internal";
import { sourceListed } from "../arguments/listed.ts";
import {
  collect,
  durabilityOption,
  limitOptions,
  maxRoundsOption,
  type ForkOptions,
  changesOf,
} from "../arguments/options.ts";
import { jsonOf, optionsOf } from "../arguments/values.ts";
import { ctrlC, listenForKeys } from "../dev/keys.ts";
import { defineCommand } from "../session/command.ts";
import { wrongUse } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { noSuchFile } from "../arguments/errors.ts";

type Options = Pick<
  ForkOptions,
  "prompt" | "promptFile" | "maxRounds" | "maxCost" | "maxTokens" | "durability"
> & { params?: string; option?: string[]; name?: string; fromRole?: string; open?: boolean };

export default defineCommand({
  onCluster: { refused: "dev registers a version at each save" },
  declare(command) {
    command
      .argument(
        "[file]",
        "the source file, or a workflow's name in uncaged.json (default: the only workflow there)",
      )
      .option("--prompt <text>", "start a new thread with this prompt; - reads it from stdin")
      .option("--prompt-file <file>", "start a new thread: the prompt is the text of this file")
      .option("--params <json>", "start a new thread with this input; @file reads it from a file")
      .option(
        "--option <name=value>",
        "an option for the workflow, as JSON or text; may be repeated",
        collect,
      );
    durabilityOption(limitOptions(maxRoundsOption(command)))
      .option(
        "--from-role <role>",
        "keep all steps up to this role's last step, even if their source has changed",
      )
      .option("--name <name>", "the workflow's name (default: the file's name)")
      .option("--open", "open the console in the browser");
  },
  examples: ["uncaged-workflow dev workflow.ts --prompt 'apples, pears'"],
  async run(session, options: Options, word?: string) {
    const { file, name } = sourceOf(session, word, options.name);
    const { prompt } = options;
    const params =
      options.params === undefined ? undefined : await jsonOf("--params", options.params);
    const { on: _, options: limits, ...given } = await changesOf(session, options);
    const own = { ...optionsOf(options.option ?? []), ...limits };
    const lock = lockDevelopment(session.host.root, name);
    const { Development } = await import("../dev/dev.ts");
    const development = new Development(session, {
      file,
      name,
      fromRole: options.fromRole,
      isNew: prompt !== undefined || options.promptFile !== undefined || params !== undefined,
      start: { ...given, params, options: own, cwd: session.cwd },
    });
    const { DevConsole } = await import("../dev/console.ts");
    const console = new DevConsole(session);
    const keys = listenForKeys(session, (key) => {
      if (key === "r") development.repeat("start");
      else if (key === "s") development.repeat("last step");
      else if (key === "a") void answer();
      else if (key === "o") void console.open();
      else if (key === "q" || key === ctrlC) development.stop();
    });
    const answer = async () => {
      const { question } = development;
      if (question === null) return;
      const text = await keys?.ask("answer: ");
      if (typeof text === "string") await development.answer(text, question);
    };
    session.interruption().addEventListener("abort", () => development.stop());
    for (const signal of ["SIGTERM", "SIGHUP"]) process.once(signal, () => development.stop());
    try {
      if (options.open) await console.open();
      await development.run(
        keys ? "r: from the start  s: the last step again  a: answer  o: console  q: quit" : "",
      );
    } finally {
      keys?.close();
      await console.close();
      lock.release();
    }
  },
});

/** Returns the source file for `dev` and the name of its workflow. */
function sourceOf(
  session: Session,
  word: string | undefined,
  name: string | undefined,
): { file: string; name: string } {
  const listed = Object.entries(session.project?.workflows ?? {});
  const only = word === undefined && listed.length === 1 ? listed[0]?.[0] : word;
  if (only === undefined) {
    const hint = "name it: uncaged-workflow dev workflow.ts, or by its name in uncaged.json";
    throw wrongUse("dev needs a file", hint);
  }
  const path = sourceListed(session, only);
  const file = path === null || existsSync(resolve(session.cwd, only)) ? only : path;
  if (!existsSync(resolve(session.cwd, file))) throw noSuchFile(file);
  const [known] = listed.find(([, source]) => source === resolve(session.cwd, file)) ?? [];
  return { file, name: name ?? known ?? basename(file).replace(/(\.esm)?\.\w+$/, "") };
}
