import { defineSubcommand } from "../session/command.ts";
import { configSources } from "./home.ts";
import { oneLine } from "../output/text.ts";

const shown = (value: unknown): string => {
  if (value === null) return "-";
  return oneLine(typeof value === "string" ? value : JSON.stringify(value));
};

export const config = defineSubcommand({
  summary: "list the settings, or get or set a setting",
  examples: ["uncaged-workflow plan config", "uncaged-workflow plan config --json | jq '.[].key'"],
  async run(session) {
    const { configEntries } = await import("@uncaged/workflow-plan/service");
    const rows = configEntries(await configSources(session));
    session.list(rows, ({ key }) => key, [
      { title: "SETTING", cell: ({ key }) => key, style: () => "bold" },
      { title: "VALUE", cell: ({ value }) => shown(value) },
      { title: "FROM", cell: ({ from }) => from },
    ]);
  },
  commands: {
    get: defineSubcommand({
      summary: "show a setting",
      declare: (command) => command.argument("<setting>", "its key, such as agent.command"),
      examples: ["uncaged-workflow plan config get agent.command"],
      async run(session, _options, key: string) {
        const { settingOf, configEntries } = await import("@uncaged/workflow-plan/service");
        const { key: known } = settingOf(key);
        const entry = configEntries(await configSources(session)).find((one) => one.key === known);
        session.show(entry, () => `${shown(entry?.value ?? null)}\n`);
      },
    }),
    set: defineSubcommand({
      summary: "set a setting in the plan home, or in your own file if a project can't set it",
      declare: (command) =>
        command
          .argument("<setting>", "its key, such as agent.command")
          .argument("<value>", "a text, a number, true or false, or a list a,b"),
      examples: [
        "uncaged-workflow plan config set max_runs 3",
        "uncaged-workflow plan config set telegram.token '${BOT}'",
      ],
      async run(session, _options, key: string, value: string) {
        const { setConfig } = await import("@uncaged/workflow-plan/service");
        const file = setConfig(await configSources(session), key, value);
        session.show({ key, set: true, file }, () => `set ${key} in ${file}\n`);
      },
    }),
    unset: defineSubcommand({
      summary: "remove a setting from the plan home: its default applies again",
      declare: (command) => command.argument("<setting>", "its key, such as agent.command"),
      examples: ["uncaged-workflow plan config unset max_runs"],
      async run(session, _options, key: string) {
        const { setConfig } = await import("@uncaged/workflow-plan/service");
        const file = setConfig(await configSources(session), key, null);
        session.show({ key, set: false, file }, () => `unset ${key} in ${file}\n`);
      },
    }),
  },
});
