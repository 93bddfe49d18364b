import type { Command } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

export function define(command: Command, perform: Perform): void {
  command.action(perform(version));
  examples(command, "uncaged-workflow version --json");
}

async function version(session: Session): Promise<void> {
  const { platform, arch } = process;
  const document = { version: manifest.version, bun: Bun.version, platform, arch };
  session.show(document, () => `${manifest.version}\n`);
}
