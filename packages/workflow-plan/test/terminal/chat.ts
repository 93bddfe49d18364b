/*
 * A terminal chat with its own plan home and a scripted model, as a program: `bun chat.ts <folder>`. The planner's
 * answers are in `replies.json` in the folder. With `GATE`, keys pressed before a plan is shown are not read until that
 * file exists.
 */
import { openLocalHost } from "@uncaged/workflow/host";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { anthropicServer } from "../../../workflow-agents/test/anthropic-server.ts";
import type { Reply } from "../../../workflow-agents/test/wire.ts";
import { Planner } from "../../src/entry/index.ts";
import { openMessaging, openPlans, runTerminalChat } from "../../src/entry/service.ts";

const folder = process.argv[2] ?? ".";
const replies = JSON.parse(readFileSync(join(folder, "replies.json"), "utf8")) as Reply[];
const model = await anthropicServer(replies);
const env = { ANTHROPIC_API_KEY: model.key, ANTHROPIC_BASE_URL: model.url };
const host = openLocalHost({ path: folder });
const agentCommand = fileURLToPath(new URL("../agents/claude.mjs", import.meta.url));
const plans = openPlans({
  ...{ host, home: join(folder, "plans"), cwd: folder, runOptions: { agentCommand } },
  env: { ...process.env, UNCAGED_WORKFLOW_STORAGE_ROOT: folder },
});
await runTerminalChat({
  ...{ plans, config: null, cwd: folder, bridge: null, hasModel: true },
  ...{ input: process.stdin, output: process.stdout },
  open: (terminal) =>
    openMessaging({
      ...{ plans, host, config: null, terminal },
      planner: (context) =>
        new Planner({ env, context, folder: plans.folder, secrets: plans.secrets }),
      describe({ description, name }) {
        const { GATE: gate } = process.env;
        if (gate !== undefined) process.stdout.write("describing\n");
        while (gate !== undefined && !existsSync(gate)) Bun.sleepSync(2);
        return `**${name}**\n${description}`;
      },
      log: (line) => process.stderr.write(`${line}\n`),
    }),
});
await model.stop();
plans.close();
