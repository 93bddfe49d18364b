import { type Command, Argument } from "commander";
import bash from "../completion/completion.bash.template" with { type: "text" };
import fish from "../completion/completion.fish.template" with { type: "text" };
import zsh from "../completion/completion.zsh.template" with { type: "text" };
import { examples, type Perform } from "../session/command.ts";
import type { Session } from "../session/session.ts";

/** The script that teaches each shell to complete the command: it asks `uncaged-workflow __complete`. */
const scripts = { bash, zsh, fish };

export function define(command: Command, perform: Perform): void {
  command
    .addArgument(new Argument("<shell>", "your shell").choices(Object.keys(scripts)))
    .action(perform(completion));
  examples(
    command,
    'eval "$(uncaged-workflow completion bash)"          # in ~/.bashrc',
    'eval "$(uncaged-workflow completion zsh)"           # in ~/.zshrc, after compinit',
    "uncaged-workflow completion fish > ~/.config/fish/completions/uncaged-workflow.fish",
  );
}

async function completion(
  session: Session,
  _options: unknown,
  shell: keyof typeof scripts,
): Promise<void> {
  const script = scripts[shell];
  session.show({ shell, script }, () => script);
}
