// An agent of the crowd that is a command: answers the part that it is asked for, or that its session is of.
import { readFileSync } from "node:fs";

const [, , session = ""] = process.argv;
const [, number = /\d+/.exec(session)?.[0]] = /Part (\d+)/.exec(readFileSync(0, "utf8")) ?? [];
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const text = `part ${number}: ${"word ".repeat(Number(number) + 5)}`;

say({ session: session ? `${session}+` : `session-${number}` });
for (let at = 0; at < text.length; at += 4) {
  say({ text: text.slice(at, at + 4) });
  await new Promise((resolve) => setTimeout(resolve, Number(process.env.CROWD_MS)));
}
say({ spent: Math.ceil(text.length / 4), answer: text });
