import { config } from "zod";

// The page's policy forbids `eval`. Import this module before any module that creates a schema.
config({ jitless: true });
