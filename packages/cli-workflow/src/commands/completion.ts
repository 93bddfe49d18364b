import { type Command, Argument } from "commander";
import { type Shell, scriptOf, shells } from "../completion/script.ts";
import { examples, type Perform } from "../program/command.ts";
import type { Session } from "../program/session.ts";

export function define(command: Command, perform: Perform): void {
  command
    .addArgument(new Argument("<shell>", "your shell").choices(shells))
    .action(perform(completion));
  examples(
    command,
    'eval "$(uncaged-workflow completion bash)"          # in ~/.bashrc',
    'eval "$(uncaged-workflow completion zsh)"           # in ~/.zshrc, after compinit',
    "uncaged-workflow completion fish > ~/.config/fish/completions/uncaged-workflow.fish",
  );
}

async function completion(session: Session, _options: unknown, shell: Shell): Promise<void> {
  const script = scriptOf(shell);
  session.show({ shell, script }, () => script);
}
