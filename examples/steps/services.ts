// A step workflow with services, a component and its own type of steps, which a JSON file can't define. Add it
// like any other source:
//
//     uncaged-workflow add services examples/steps/services.ts
//     uncaged-workflow run services --follow
import { stepsBundle } from "@uncaged/workflow-steps";
import flow from "./services.json";

type Given = { text?: string; title?: string };

export const { run, descriptor } = stepsBundle(flow, {
  adapters: {
    service: {
      // The registry declares the service: here it is CountWords.
      async call(_name, params) {
        const { text = "" } = params as Given;
        return { data: { words: text.split(/\s+/).length } };
      },
    },
    component: {
      call: async (id, params) => ({ id, title: (params as Given).title }),
    },
  },
  customHandlers: {
    Shout: (context, step) => `${String(context.evaluate(step.in?.text)).toUpperCase()}!`,
  },
});
