import { commandGuard, stepTools } from "../plan/agent-programs.ts";
import { chat } from "../plan/chat.ts";
import { config } from "../plan/config.ts";
import {
  answer,
  cancel,
  confirm,
  pause,
  rebuild,
  remove,
  resume,
  retry,
  run,
} from "../plan/control.ts";
import { answerQuestion, make, modify } from "../plan/planning.ts";
import { plansElsewhere } from "../plan/home.ts";
import { list, show, status } from "../plan/reading.ts";
import { secret } from "../plan/secret.ts";
import { service } from "../plan/service.ts";
import { tick } from "../plan/tick.ts";
import { defineCommand } from "../session/command.ts";

export default defineCommand({
  onServer: { refused: plansElsewhere },
  examples: [
    "uncaged-workflow plan new 'Every weekday at nine, tell me which of my repositories have failing builds'",
    "uncaged-workflow plan confirm wf_x7",
  ],
  commands: {
    ...{ new: make, "answer-question": answerQuestion, modify, list, show, status },
    ...{ confirm, run, retry, answer, pause, resume, cancel, delete: remove },
    ...{ chat, secret, config, tick, service, rebuild },
    ...{ __mcp: stepTools, __guard: commandGuard },
  },
});
