import { openLocalHost } from "@uncaged/workflow/host";
import { existsSync } from "node:fs";
import { openMessaging, openPlans } from "../../src/entry/service.ts";

/*
 * A bot that kills itself with SIGKILL during a message, after a file shows that the platform has received the
 * acknowledgement.
 */
type Task = { root: string; home: string; token: string; url: string; gate: string };
const { gate, home, root, token, url } = JSON.parse(process.argv[2] ?? "{}") as Task;
const host = openLocalHost({ path: root });
const plans = openPlans({ host, home, env: {}, cwd: home });
const messaging = await openMessaging({
  ...{ plans, host, describe: () => "", log: (line) => process.stderr.write(`${line}\n`) },
  config: {
    telegram: { enabled: true, token, allowed_users: ["7"], api_root: url },
    whatsapp: { enabled: false, allowed_jids: [] },
  },
  async classify() {
    while (!existsSync(gate)) await Bun.sleep(2);
    process.kill(process.pid, "SIGKILL");
    return { type: "chat_reply", text: "never" };
  },
  planner: () => {
    throw new Error("no planner in this program");
  },
});
messaging.connect();
