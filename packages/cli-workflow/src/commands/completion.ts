import { Argument } from "commander";
import bash from "../completion/completion.bash.template" with { type: "text" };
import fish from "../completion/completion.fish.template" with { type: "text" };
import zsh from "../completion/completion.zsh.template" with { type: "text" };
import { defineCommand } from "../session/command.ts";

/** The completion script of each shell, which calls `uncaged-workflow __complete`. */
const scripts = { bash, zsh, fish };

export default defineCommand({
  onCluster: "unused",
  declare: (command) =>
    command.addArgument(new Argument("<shell>", "your shell").choices(Object.keys(scripts))),
  examples: [
    'eval "$(uncaged-workflow completion bash)"          # in ~/.bashrc',
    'eval "$(uncaged-workflow completion zsh)"           # in ~/.zshrc, after compinit',
    "uncaged-workflow completion fish > ~/.config/fish/completions/uncaged-workflow.fish",
  ],
  async run(session, _options, shell: keyof typeof scripts) {
    const script = scripts[shell];
    session.show({ shell, script }, () => script);
  },
});
