import { ExecutorError } from "../error/error.ts";

/* The errors of commands of the terminal. */

export const commandTaken = (name: string): Error => new Error(`command /${name} already exists`);

export const unknownBotAction = (text: string): ExecutorError =>
  new ExecutorError(`/bot: unknown action ${JSON.stringify(text)}: use start or status`);
