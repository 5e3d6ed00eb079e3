-- Defines the command and the <Plug> mappings, and starts the language server once Neovim has started.
if vim.g.loaded_backstitch then
  return
end
vim.g.loaded_backstitch = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.notify_once('backstitch: needs Neovim 0.11 or newer', vim.log.levels.ERROR)
  return
end

vim.api.nvim_create_user_command('Backstitch', function(typed)
  require('backstitch.commands').run(typed)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'Checkpoints of what agents do: timeline, rewind, diff, fork, and more',
  complete = function(word, line)
    return require('backstitch.commands').complete(word, line)
  end,
})

for name, command in pairs({
  Timeline = 'log',
  Rewind = 'rewind',
  Undo = 'undo',
  Redo = 'redo',
  Diff = 'diff',
  DiffSplit = 'diffsplit',
  NextHunk = 'next',
  PrevHunk = 'prev',
  TakeBack = 'takeback',
  Keep = 'keep',
  Blame = 'blame',
  Checkpoint = 'checkpoint',
  Fork = 'fork',
}) do
  local mode = (name == 'TakeBack' or name == 'Keep') and { 'n', 'x' } or 'n'
  vim.keymap.set(mode, ('<Plug>(Backstitch%s)'):format(name), ':Backstitch ' .. command .. '<CR>', { silent = true })
end

-- Scheduled: the first screen does not wait for the server.
local function start()
  vim.schedule(function()
    require('backstitch').start()
  end)
end
if vim.v.vim_did_enter == 1 then
  start()
else
  vim.api.nvim_create_autocmd('VimEnter', { once = true, callback = start })
end
