// Calls the read_file tool of Qwen Code: one JSON object with the arguments per line in, one with the answer out.
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';

const [place, root] = process.argv.slice(2);
const print = console.log;
for (const name of ['log', 'info', 'warn', 'debug', 'error']) console[name] = () => {};
// The program is a bundle that does not export its tools: a copy of the chunk beside it does.
const chunks = path.join(place, 'node_modules/@qwen-code/qwen-code/chunks');
const names = fs.readdirSync(chunks).filter((name) => name.startsWith('chunk-') && name.endsWith('.js'));
const read = (name) => fs.readFileSync(path.join(chunks, name), 'utf8');
const copy = path.join(chunks, 'read-file-tool.js');
const text = names.map(read).find((one) => one.includes('class _ReadFileTool extends'));
fs.writeFileSync(copy, `${text}\nexport { ReadFileTool as TheReadFileTool };\n`);
const { TheReadFileTool } = await import(copy);
const files = names.find((name) => read(name).includes('var StandardFileSystemService = class'));
const { StandardFileSystemService } = await import(path.join(chunks, files));
const service = new StandardFileSystemService();
const known = {
  getTargetDir: () => root,
  getFileSystemService: () => service,
  getFileService: () => ({ shouldQwenIgnoreFile: () => false }),
  getWorkspaceContext: () => ({ isPathWithinWorkspace: () => true, getDirectories: () => [root] }),
  getTruncateToolOutputThreshold: () => 25000,
  getTruncateToolOutputLines: () => 1000,
  getEffectiveInputModalities: () => ({ image: true, pdf: true }),
  getContentGeneratorConfig: () => ({ modalities: { image: true, pdf: true } }),
  getFileReadCacheDisabled: () => true,
  getFileReadCache: () => ({ check: () => ({}), recordRead() {}, markReadEvictedFromHistory() {} }),
};
const get = (target, key) => (key in target ? target[key] : key === 'then' ? undefined : () => undefined);
const tool = new TheReadFileTool(new Proxy(known, { get }));
for await (const line of readline.createInterface({ input: process.stdin })) {
  let answer;
  try {
    const result = await tool.build(JSON.parse(line)).execute(new AbortController().signal);
    answer = { failed: Boolean(result.error), content: result.llmContent };
  } catch (error) {
    answer = { failed: true, content: String(error.message) };
  }
  print(JSON.stringify(answer));
}
