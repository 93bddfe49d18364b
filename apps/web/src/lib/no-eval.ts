import { config } from "zod";

// The page's policy forbids `eval`. Import this before the first schema is created.
config({ jitless: true });
