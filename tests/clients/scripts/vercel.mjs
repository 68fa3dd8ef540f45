// Vercel's ai, with the provider that its second argument names.
import { execSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

const [prompt, provider, model] = process.argv.slice(2);
const library = await import(`@ai-sdk/${provider}`);
// Google's has no variable for its address.
const made =
  provider === "google"
    ? library.createGoogleGenerativeAI({ baseURL: process.env.GEMINI_API_BASE })
    : library[provider];
const { text } = await generateText({
  model: made(model),
  prompt,
  stopWhen: stepCountIs(5),
  tools: {
    read_file: tool({
      description: "Read a file",
      inputSchema: z.object({ path: z.string() }),
      execute: async ({ path }) => readFileSync(path, "utf-8"),
    }),
    shell: tool({
      description: "Run a command",
      inputSchema: z.object({ command: z.string() }),
      execute: async ({ command }) => execSync(command, { encoding: "utf-8" }),
    }),
  },
});
console.log(text);
