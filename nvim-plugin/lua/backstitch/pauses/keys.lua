--- Keys in the list of held calls and in their files.
local float = require('backstitch.float')
local files = require('backstitch.held_files')
local decisions = require('backstitch.pauses.decisions')
local held = require('backstitch.pauses.held')
local view = require('backstitch.pauses.view')
local task = require('backstitch.task')

local M = {}

--- Keys of the view, with what they do.
---@type { key: string, desc: string, run: async fun(client: vim.lsp.Client) }[]
M.KEYS = {
  {
    key = 'c',
    desc = 'Continue: let the call run, with your changes. For a proposed rewind: rewind.',
    run = function(client)
      decisions.resume(client)
    end,
  },
  {
    key = 'n',
    desc = 'Step over: continue, and stop at the next call of this thread.',
    run = function(client)
      decisions.step(client, 'over')
    end,
  },
  {
    key = 's',
    desc = 'Step into: continue, and stop at the next call of any thread.',
    run = function(client)
      decisions.step(client, 'into')
    end,
  },
  {
    key = 'o',
    desc = 'Step out: stop at the next call of the main thread, or of another turn.',
    run = function(client)
      decisions.step(client, 'out')
    end,
  },
  {
    key = 'd',
    desc = 'Deny, with a reason for the model.',
    run = function(client)
      decisions.refuse(client, 'deny')
    end,
  },
  {
    key = 'k',
    desc = 'Skip: the call does not run, and the agent continues without it.',
    run = function(client)
      decisions.skip(client)
    end,
  },
  { key = 'e', desc = 'Edit the input as JSON; |:w| checks it.', run = decisions.edit_input },
  {
    key = '<Tab>',
    desc = 'Show the next file of the call.',
    run = function()
      view.go(1)
    end,
  },
  {
    key = '<S-Tab>',
    desc = 'Show the previous file.',
    run = function()
      view.go(-1)
    end,
  },
  {
    key = 'i',
    desc = 'Tell the model something.',
    run = function(client)
      decisions.inject(client)
    end,
  },
  {
    key = 'b',
    desc = "Take the session's last step out, and deny.",
    run = function(client)
      decisions.back(client)
    end,
  },
  {
    key = 'x',
    desc = 'Deny, and stop the turn.',
    run = function(client)
      decisions.refuse(client, 'stop')
    end,
  },
  {
    key = 'r',
    desc = 'Read the list anew.',
    run = function(client)
      view.schedule_read(client)
    end,
  },
}

--- Maps the keys in the list. A file that can be edited has them behind |<LocalLeader>|.
---@param buf integer
---@param is_list boolean
function M.map(buf, is_list)
  for _, each in ipairs(M.KEYS) do
    local key = (is_list or not vim.bo[buf].modifiable) and each.key or '<LocalLeader>' .. each.key
    vim.keymap.set('n', key, function()
      local of = files.owner(buf) or view.get()
      local client = of and held.client_of(of)
      if client then
        task.run(function()
          each.run(client)
        end)
      end
    end, { buffer = buf, nowait = true, desc = each.desc })
  end
  vim.keymap.set('n', 'g?', function()
    local lines = vim.tbl_map(function(each)
      return { { ('%-8s'):format(each.key), 'BackstitchKey' }, { (each.desc:gsub('|', '')) } }
    end, M.KEYS)
    float.open({ title = 'Held calls', lines = lines, keys = {}, footer = 'q close' })
  end, { buffer = buf, desc = 'List these keys' })
end

return M
