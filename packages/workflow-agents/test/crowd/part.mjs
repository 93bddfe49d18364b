// An agent of the crowd that is a command: answers the part that it is asked for, or that its session is of.
import { appendFileSync, readFileSync } from "node:fs";

const [, , session = ""] = process.argv;
const [, number = /\d+/.exec(session)?.[0]] = /Part (\d+)/.exec(readFileSync(0, "utf8")) ?? [];
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
// Where the test that counts finds what it has begun and spent.
const count = (line) => appendFileSync(process.env.CROWD_SPENT, `${JSON.stringify(line)}\n`);
const text = `part ${number}: ${"word ".repeat(Number(number) + 5)}`;

count({ begun: true });
say({ session: session ? `${session}+` : `session-${number}` });
for (let at = 0; at < text.length; at += 4) {
  say({ text: text.slice(at, at + 4) });
  await new Promise((resolve) => setTimeout(resolve, Number(process.env.CROWD_MS)));
}
const spent = Math.ceil(text.length / 4);
count({ spent });
say({ spent, answer: text });
