import { openLocalHost } from "@uncaged/workflow/host";
import { openMessaging, openPlans } from "../../src/entry/service.ts";
import { TelegramChannel } from "../../src/channel/telegram.ts";

/* Sends the notices of a plan home by a bot. Kills itself with SIGKILL after the given number of notices. */
type Task = { root: string; home: string; token: string; url: string; dieAfter: number };
const { dieAfter, home, root, token, url } = JSON.parse(process.argv[2] ?? "{}") as Task;
const host = openLocalHost({ path: root });
const plans = openPlans({ host, home, env: {}, cwd: home });
const send = Reflect.get<TelegramChannel, "sendMessage">(TelegramChannel.prototype, "sendMessage");
let sent = 0;
Reflect.set(
  TelegramChannel.prototype,
  "sendMessage",
  async function own(this: TelegramChannel, jid: string, text: string) {
    const id = await send.call(this, jid, text);
    sent += 1;
    if (sent === dieAfter) process.kill(process.pid, "SIGKILL");
    return id;
  },
);
const messaging = await openMessaging({
  ...{ plans, host, describe: () => "", log: (line) => process.stderr.write(`${line}\n`) },
  config: {
    telegram: { enabled: true, token, allowed_users: [], api_root: url },
    whatsapp: { enabled: false, allowed_jids: [] },
  },
  planner: () => {
    throw new Error("no planner in this program");
  },
});
messaging.connect();
while (!messaging.channels.every((one) => one.isConnected())) await Bun.sleep(2);
await messaging.notices.send();
await messaging.close();
plans.close();
