import manifest from "../../package.json" with { type: "json" };
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  onCluster: "unused",
  examples: ["uncaged-workflow version --json"],
  async run(session) {
    const { platform, arch } = process;
    const document = { version: manifest.version, bun: Bun.version, platform, arch };
    session.show(document, () => `${manifest.version}\n`);
  },
});
